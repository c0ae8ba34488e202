# Decoding graphs (book 6.2), compiled into the current folder:
#   make -f Examples/Speech/Decode/DecodingGraph.mak CORPUS=../shared/data/synthspeech CNTK=build/bin/cntk
# Targets: i_lp.final.dg (phones, the default), words.dg, triphones.dg. The variables name the input files.
Tool := $(dir $(lastword $(MAKEFILE_LIST)))MakeGraph.py
CNTK ?= cntk
CORPUS ?= synthspeech
ModelMap ?= $(CORPUS)/lang/model.state.map
Transitions ?= $(CORPUS)/lang/state.transitions
PhoneLm ?= $(CORPUS)/lang/phone.2gram.arpa
WordLm ?= $(CORPUS)/lang/word.2gram.arpa
Lexicon ?= $(CORPUS)/lang/lexicon.prob.txt
StateMap ?= $(CORPUS)/decoding/graphs/state.cntkmap
Mmf ?= $(CORPUS)/decoding/triphone/donor.mmf.gz
List ?= $(CORPUS)/decoding/triphone/tied.list.gz

i_lp.final.dg: $(ModelMap) $(Transitions) $(PhoneLm)
	$(Tool) phones --model-map $(ModelMap) --lm $(PhoneLm) --transitions $(Transitions) --cntk $(CNTK) --out i_lp.final

words.dg: $(Lexicon) $(ModelMap) $(Transitions) $(WordLm)
	$(Tool) words --lexicon $(Lexicon) --model-map $(ModelMap) --lm $(WordLm) --transitions $(Transitions) --cntk $(CNTK) --out words

distilled/lexicon: $(Lexicon) $(WordLm) $(StateMap) $(Mmf) $(List)
	$(Tool) donor --lexicon $(Lexicon) --lm $(WordLm) --cntkmap $(StateMap) --mmf $(Mmf) --list $(List) --out distilled

triphones.dg: distilled/lexicon
	$(Tool) triphones --donor distilled --cntk $(CNTK) --out triphones
