"""python -m cntk runs the program: python -m cntk configFile=x.cntk"""
import os
import sys


def main():
    folder = os.path.dirname(os.path.abspath(__file__))
    for program in (os.path.join(folder, "bin", "cntk"), os.path.join(folder, "..", "..", "bin", "cntk")):
        if os.path.exists(program):
            break
    else:
        sys.exit("cntk: the program was not found; expected %s" % os.path.join(folder, "bin", "cntk"))
    os.execv(program, [program] + sys.argv[1:])


if __name__ == "__main__":
    main()
