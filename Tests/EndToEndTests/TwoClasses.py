"""A text of five points of two classes, and a base class of tests whose configs read it."""
from EndToEnd import EndToEndTest

DATA = "0.5 1 yes\n-1 0.25 no\n0 0 yes\n1 1 no\n0.5 -1 yes\n"


class TwoClassesTest(EndToEndTest):
    """Base of tests whose folder has exp.cntk (the config of the class), train.txt and map.txt."""
    config = ""

    def setUp(self):
        super().setUp()
        self.write("exp.cntk", self.config)
        self.write("train.txt", DATA)
        self.write("map.txt", "yes\nno\n")

    def run_command(self, command, *arguments, **keywords):
        return self.cntk("configFile=exp.cntk", "command=" + command, *arguments, **keywords)
