// Devices: the CPU with a number of threads, and GPUs.
#include "Math/Device.h"
#include "Python/State.h"

namespace cntk::Python
{

void BindDevices(py::module_& module, const StatePtr& state)
{
    py::class_<Device, std::shared_ptr<Device>>(module, "Device", "A place where values are stored and computed.")
        .def_property_readonly("id", &Device::Id, "-1 for the CPU, else the number of the GPU.")
        .def("__repr__", &Device::Describe);
    module.def("cpu_device",
               [](int threads)
               {
                   CpuOptions options;
                   options.threads = threads;
                   return MakeCpuDevice(options);
               });
    module.def("gpu_device",
               [](int id)
               {
                   const py::gil_scoped_release released;
                   return MakeGpuDevice(id);
               });
    module.def("current_device", [state] { return state->context.CurrentDevice(); });
    module.def("use_device", [state](std::shared_ptr<Device> device) { state->context.UseDevice(std::move(device)); });
}

} // namespace cntk::Python
