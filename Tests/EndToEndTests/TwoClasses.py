"""Five points of two classes as a text, and tests of configs that read it."""
from EndToEnd import EndToEndTest

DATA = "0.5 1 yes\n-1 0.25 no\n0 0 yes\n1 1 no\n0.5 -1 yes\n"


class TwoClassesTest(EndToEndTest):
    """exp.cntk, which is the class's config, train.txt and map.txt lie in the folder."""
    config = ""

    def setUp(self):
        super().setUp()
        self.write("exp.cntk", self.config)
        self.write("train.txt", DATA)
        self.write("map.txt", "yes\nno\n")

    def run_command(self, command, *arguments, **keywords):
        return self.cntk("configFile=exp.cntk", "command=" + command, *arguments, **keywords)
