"""Small networks, one for each node type that the export to ONNX knows. Each is written as the lines of an edit script.

A case is (name, lines, options). The last line defines node "z", the output. Inputs are named in STREAMS. Options: frames
(the network has no time), even (sequences have even lengths), floatOnly (onnxruntime has no double kernel), words (inputs
that become word numbers), imports (values for statistics), causal=False (the network looks ahead), derived (the factor by
which the number of steps changes)."""

# Values of each stream: rows, or vocabulary and words of a sample.
STREAMS = {"x": 4, "y": 4, "n": 1, "m": 6, "i": 24, "v": 30, "q": 24, "word": (5, 1), "words": (5, 3), "dense": (5, 1)}
INPUTS = {
    "x": "x=InputValue(4)", "y": "y=InputValue(4)", "n": "n=InputValue(1)", "m": "m=InputValue(dims={2,3})",
    "i": "i=ImageInput(4,3,2)", "v": "v=ImageInput(5,3,2,imageLayout=CHW)", "q": "q=InputValue(dims={2,3,2,2})",
    "word": "word=SparseInput(5)", "words": "words=SparseInput(15)", "dense": "dense=InputValue(5)",
}


def parameter(*dims, low=None):
    """A parameter of random values between -1 and 1 (or above `low`)."""
    shape = "dims={%s}" % ",".join(map(str, dims))
    return "LearnableParameter(%s,init=uniform,initValueScale=20)" % shape


def frames(name, *lines, **options):
    return name, lines, dict(options, frames=True)


def time(name, *lines, **options):
    return name, lines, options


def unary(function):
    return frames(function, "z=%s(x)" % function)


def lstm_of_nodes():
    """A layer of memory cells built of nodes, as users wrote them."""
    gate = "{0}W={1}|{0}R={2}|{0}b={3}".format("%s", parameter(3, 4), parameter(3, 3), parameter(3, 1)).split("|")
    lines = [line % "i" for line in gate] + [line % "f" for line in gate] + [line % "c" for line in gate]
    return lines + [
        "h1=PastValue(3,1,o,defaultHiddenActivity=0.25)", "c1=PastValue(3,1,c)",
        "ig=Sigmoid(Plus(Plus(Times(iW,x),Times(iR,h1)),ib))", "fg=Sigmoid(Plus(Plus(Times(fW,x),Times(fR,h1)),fb))",
        "g=Tanh(Plus(Plus(Times(cW,x),Times(cR,h1)),cb))", "c=Plus(ElementTimes(fg,c1),ElementTimes(ig,g))",
        "o=Tanh(c)", "z=Plus(o,c1)"]


def lstm_weights(prefix, cells, inputs):
    """The weights of an LSTM node: bias, of the input, of the output before, and of the cell (not for its input)."""
    return ["%s%s=%s" % (prefix, gate, parameter(cells, 1 + inputs + cells + (gate != "c"))) for gate in "ifoc"]


CASES = [unary(function) for function in (
    "Abs", "Cosine", "Exp", "Negate", "RectifiedLinear", "Sigmoid", "Sin", "Tanh", "Log", "Reciprocal", "Sqrt", "Softmax",
    "LogSoftmax", "Hardmax", "Dropout", "SumColumnElements")]
for case in CASES:
    case[2]["floatOnly"] = case[0] in ("Cosine", "Hardmax")
CASES += [
    frames("SoftmaxTensor", "z=Softmax(m)"),
    frames("LogSoftmaxTensor", "z=LogSoftmax(v)"),
    frames("HardmaxTensor", "z=Hardmax(m)", floatOnly=True),
    frames("Pass", "p=Pass(x)", "z=Pass(p)"),
    frames("Trace", "z=Trace(x)"),
    frames("Plus", "z=Plus(x,y)"),
    frames("PlusBias", "b=" + parameter(4, 1), "z=Plus(x,b)"),
    frames("PlusScalar", "b=" + parameter(1, 1), "z=Plus(b,x)"),
    frames("PlusTensor", "b=" + parameter(1, 3), "z=Plus(m,b)"),
    frames("PlusRanks", "b=" + parameter(2, 3, 2), "z=Plus(m,b)"),
    frames("PlusColumn", "b=" + parameter(1, 3), "z=Plus(x,b)"),
    frames("Minus", "z=Minus(x,n)"),
    frames("MinusOfParameter", "b=" + parameter(4, 1), "z=Minus(b,x)"),
    frames("ElementTimes", "z=ElementTimes(x,y)"),
    frames("Scale", "z=Scale(n,x)"),
    frames("Times", "W=" + parameter(3, 4), "z=Times(W,x)"),
    frames("TimesTensor", "W=" + parameter(3, 2, 3), "z=Times(W,m)"),
    frames("TimesRest", "W=" + parameter(4, 2), "z=Times(W,m)"),
    frames("TimesRank", "W=" + parameter(3, 2, 4), "z=Times(W,x,outputRank=2)"),
    frames("TimesFlat", "W=" + parameter(3, 24), "z=Times(W,i)"),
    frames("TransposeTimes", "W=" + parameter(4, 3), "z=TransposeTimes(W,x)"),
    frames("TransposeTimesData", "z=TransposeTimes(x,y)"),
    frames("TimesDataMatrix", "b=" + parameter(3, 2), "z=Times(m,b)"),
    frames("TimesSparse", "W=" + parameter(3, 5), "z=Times(W,word)"),
    frames("TimesWords", "W=" + parameter(3, 5), "z=Times(W,word)", words=["word"]),
    frames("Lookup", "E=" + parameter(3, 5), "z=LookupTable(E,words)"),
    frames("LookupWords", "E=" + parameter(3, 5), "z=LookupTable(E,words)", words=["words"]),
    frames("LookupWord", "E=" + parameter(3, 5), "z=LookupTable(E,word)", words=["word"]),
    frames("DiagTimes", "d=" + parameter(4, 1), "z=DiagTimes(d,x)"),
    frames("DiagTimesData", "z=DiagTimes(y,x)"),
    frames("PerDimMeanVarNormalization", "M=Mean(x)", "D=InvStdDev(x)", "z=PerDimMeanVarNormalization(x,M,D)",
           imports={"M": [0.5, -1, 0, 2], "D": [1.5, 0.25, 3, 1]}),
    frames("PerDimMeanVarDeNormalization", "M=" + parameter(4, 1), "D=" + parameter(4, 1),
           "z=PerDimMeanVarDeNormalization(x,M,D)"),
    frames("RowStack", "b=" + parameter(3, 1), "z=RowStack(x,n,b,y)"),
    frames("RowStackAxis", "b=" + parameter(2, 1), "z=RowStack(m,b,m,axis=2)"),
    frames("RowStackBroadcast", "z=RowStack(m,n)"),
    frames("RowSlice", "z=RowSlice(1,2,x)"),
    frames("RowSliceTensor", "z=RowSlice(1,1,m)"),
    frames("RowRepeat", "z=RowRepeat(x,3)"),
    frames("RowRepeatTensor", "z=RowRepeat(m,2)"),
    frames("TransposeDimensions", "z=TransposeDimensions(m)"),
    frames("TransposeDimensions3", "z=TransposeDimensions(v,axis1=1,axis2=3)"),
    frames("Reshape", "z=Reshape(x,4)"),
    frames("ReshapeImage", "r=Reshape(m,6,imageWidth=3,imageHeight=2,imageChannels=1)", "z=Tanh(r)"),
    frames("ReduceElements", "z=ReduceElements(m,axis=2)"),
    frames("ReduceElements1", "z=ReduceElements(m,axis=1)"),
    frames("ReduceAll", "z=ReduceElements(m)"),
    frames("KhatriRaoProduct", "s=RowSlice(0,3,x)", "z=KhatriRaoProduct(s,y)"),
    frames("KhatriRaoParameter", "b=" + parameter(3, 1), "z=KhatriRaoProduct(x,b)"),
    frames("CosDistance", "z=CosDistance(x,y)"),
    frames("CosDistanceParameter", "b=" + parameter(4, 1), "z=CosDistance(b,x)"),
    frames("GMMLogLikelihood", "p=" + parameter(3, 1), "c=" + parameter(12, 1), "d=" + parameter(3, 1),
           "z=GMMLogLikelihood(p,c,d,x)"),
    frames("GmmOfData", "U=" + parameter(3, 4), "p=Times(U,y)", "c=" + parameter(12, 1), "d=" + parameter(3, 1),
           "z=GMMLogLikelihood(p,c,d,x)"),
    frames("BatchNormalization", "s=" + parameter(4, 1), "b=" + parameter(4, 1), "M=Constant(0.5,rows=4)",
           "D=Constant(2,rows=4)", "z=BatchNormalization(x,s,b,M,D,eval=true)"),
    frames("BatchNormalizationHwc", "s=" + parameter(2, 1), "b=" + parameter(2, 1), "M=Constant(0.5,rows=2)",
           "D=Constant(2,rows=2)", "z=BatchNormalization(i,s,b,M,D,spatial=true,imageLayout=HWC)"),
    frames("BatchNormalizationChw", "s=" + parameter(2, 1), "b=" + parameter(2, 1), "M=Constant(0.5,rows=2)",
           "D=Constant(2,rows=2)", "z=BatchNormalization(v,s,b,M,D,spatial=true,imageLayout=CHW)"),
    frames("ConvolutionHwc", "W=" + parameter(3, 8), "z=Convolution(W,i,2,2,3,1,1)", floatOnly=True),
    frames("ConvolutionHwcPadded", "W=" + parameter(3, 12), "z=Convolution(W,i,3,2,3,2,1,zeroPadding=true)",
           floatOnly=True),
    frames("ConvolutionHwcPadded5", "W=" + parameter(3, 30), "z=Convolution(W,i,5,3,3,3,2,zeroPadding=true)",
           floatOnly=True),
    frames("ConvolutionChw", "W=" + parameter(3, 12), "z=Convolution(W,v,3,2,3,1,1,imageLayout=CHW)", floatOnly=True),
    frames("ConvolutionChwPadded", "W=" + parameter(3, 18),
           "z=Convolution(W,v,3,3,3,2,2,zeroPadding=true,imageLayout=CHW)", floatOnly=True),
    frames("ConvolutionCut", "W=" + parameter(2, 4), "z=Convolution(W,v,2,1,2,2,1,imageLayout=CHW)", floatOnly=True),
    frames("ConvolutionNd", "W=" + parameter(2, 9),
           "z=Convolution(W,v,{3,3,1},mapCount=2,autoPadding={true,true,false})", floatOnly=True),
    frames("ConvolutionNdAll", "W=" + parameter(3, 12),
           "z=Convolution(W,v,{3,2,2},mapCount=3,stride={2,1,2},autoPadding={true,false,false})", floatOnly=True),
    frames("Convolution4d", "W=" + parameter(2, 8),
           "z=Convolution(W,q,{2,1,2,2},mapCount=2,autoPadding=false,lowerPad={1,0,1,0},upperPad={0,0,1,0})",
           floatOnly=True),
    frames("ConvolutionMaps", "W=" + parameter(6, 4),
           "z=Convolution(W,v,{2,2,1},mapCount={2,1,3},autoPadding=false)", floatOnly=True),
    frames("MaxPoolingHwc", "z=MaxPooling(i,2,2,1,1)"),
    frames("AveragePoolingHwc", "z=AveragePooling(i,3,2,1,2)", floatOnly=True),
    frames("MaxPoolingChw", "z=MaxPooling(v,2,2,2,1,imageLayout=CHW)"),
    frames("AveragePoolingChw", "z=AveragePooling(v,2,2,2,2,imageLayout=CHW)", floatOnly=True),
    frames("PoolingMax", "z=Pooling(v,max,{3,2,1},stride={2,1,1})"),
    frames("PoolingAverage", "z=Pooling(v,average,{3,3,1},stride=1)", floatOnly=True),
    frames("PoolingDepth", "z=Pooling(v,average,{2,2,2},stride=2,autoPadding={true,true,false})", floatOnly=True),
    frames("PoolingStride2", "z=Pooling(v,max,{2,2,1},stride={3,2,1},autoPadding=false)"),
    frames("Pooling4d", "z=Pooling(q,average,{2,2,2,2},autoPadding=false,lowerPad={1,0,0,1},upperPad={0,1,0,0})",
           floatOnly=True),
    frames("Folded", "A=" + parameter(3, 3), "C=" + parameter(3, 4), "W=Times(A,C)", "b=" + parameter(3, 1), "l=Exp(b)",
           "D=Diagonal(A)", "t=Transpose(D)", "s=Log(l)", "z=Plus(Plus(Plus(Times(W,x),s),t),b)"),
    frames("EnvironmentInput", "e=EnvironmentInput(property=isTraining)", "z=Plus(x,e)"),
    # ---- time ----
    time("PastValue", "z=PastValue(4,1,x,timeStep=1)"),
    time("PastValue2", "z=PastValue(4,1,x,timeStep=2,defaultHiddenActivity=0.5)"),
    time("PastValueSparse", "W=" + parameter(3, 5), "p=PastValue(5,1,word,timeStep=1)", "z=Times(W,p)"),
    time("PastValueWords", "W=" + parameter(3, 5), "p=PastValue(5,1,word,timeStep=1)", "z=Times(W,p)", words=["word"]),
    time("PastValueTensor", "z=PastValue(0,0,m,timeStep=3)"),
    time("FutureValue", "z=FutureValue(4,1,x,timeStep=1)", causal=False),
    time("FutureValue2", "z=FutureValue(4,1,x,timeStep=2,defaultHiddenActivity=-0.5)", causal=False),
    time("FutureValueTensor", "z=FutureValue(0,0,m,timeStep=1)", causal=False),
    time("TimeReverse", "z=TimeReverse(x)", causal=False),
    time("TimeReverseTwice", "r=TimeReverse(m)", "p=PastValue(0,0,r)", "z=TimeReverse(p)", causal=False),
    time("Loop", "W=" + parameter(3, 4), "R=" + parameter(3, 3), "b=" + parameter(3, 1), "p=PastValue(3,1,h,timeStep=1)",
         "h=Tanh(Plus(Plus(Times(W,x),Times(R,p)),b))", "z=Plus(h,p)"),
    time("Loop2", "W=" + parameter(3, 4), "R=" + parameter(3, 3), "p=PastValue(3,1,z,timeStep=2)",
         "z=Tanh(Plus(Times(W,x),Times(R,p)))"),
    time("LoopAhead", "W=" + parameter(3, 4), "R=" + parameter(3, 3), "p=FutureValue(3,1,h,timeStep=1)",
         "h=Tanh(Plus(Times(W,x),Times(R,p)))", "z=Softmax(h)", causal=False),
    time("LoopAhead2", "W=" + parameter(3, 4), "R=" + parameter(3, 3), "p=FutureValue(3,1,z,timeStep=2)",
         "z=Tanh(Plus(Times(W,x),Times(R,p)))", causal=False),
    time("Bidirectional", "W=" + parameter(3, 4), "R=" + parameter(3, 3), "p=PastValue(3,1,f,timeStep=1)",
         "f=Tanh(Plus(Times(W,x),Times(R,p)))", "V=" + parameter(3, 4), "Q=" + parameter(3, 3),
         "n1=FutureValue(3,1,g,timeStep=1)", "g=Tanh(Plus(Times(V,x),Times(Q,n1)))", "z=RowStack(f,g)", causal=False),
    time("LoopStack", "R=" + parameter(4, 7), "b=" + parameter(3, 1), "p=PastValue(4,1,h,timeStep=1)",
         "s=RowStack(p,b)", "h=Plus(Times(R,s),x)", "z=Sigmoid(h)"),
    time("LoopTensor", "p=PastValue(2,3,h,timeStep=1)", "h=Tanh(Plus(m,p))", "z=ReduceElements(h,axis=2)"),
    time("LoopWords", "E=" + parameter(3, 5), "R=" + parameter(3, 3), "g=LookupTable(E,word)",
         "p=PastValue(3,1,z,timeStep=1)", "z=Tanh(Plus(g,Times(R,p)))", words=["word"]),
    time("LoopSparse", "E=" + parameter(3, 5), "R=" + parameter(3, 3), "p=PastValue(3,1,z,timeStep=1)",
         "z=Tanh(Plus(Times(E,word),Times(R,p)))"),
    time("LstmOfNodes", *lstm_of_nodes()),
    time("LSTM", *lstm_weights("W", 3, 4), "z=LSTM(x,Wi,Wf,Wo,Wc)", floatOnly=True),
    time("Images", "r=PastValue(0,0,v)", "W=" + parameter(2, 18),
         "k=Convolution(W,r,3,3,2,1,1,zeroPadding=true,imageLayout=CHW)", "z=MaxPooling(k,2,2,2,2,imageLayout=CHW)",
         floatOnly=True),
    time("ImagesHwc", "r=PastValue(0,0,i)", "W=" + parameter(2, 18), "k=Convolution(W,r,3,3,2,1,1,zeroPadding=true)",
         "z=MaxPooling(k,2,2,2,2)", floatOnly=True),
    time("JoinSteps", "z=Reshape(x,8)", even=True, derived=0.5, causal=False),
    time("SplitSteps", "z=Reshape(x,2)", derived=2, causal=False),
    time("JoinAhead", "r=Reshape(x,8)", "f=FutureValue(8,1,r,timeStep=1)", "z=TimeReverse(f)", even=True, derived=0.5,
         causal=False),
    time("FramesInTime", "p=PastValue(1,1,n)", "W=" + parameter(3, 2, 3), "b=" + parameter(3, 1),
         "z=Softmax(Plus(Plus(Times(W,m),b),p))"),
    time("Attention", "W=" + parameter(4, 6), "k=Times(W,m)", "z=Attention(m,k,x)", causal=False),
    time("AttentionInLoop", "R=" + parameter(4, 4), "p=PastValue(4,1,h,timeStep=1)", "a=Attention(x,y,p)",
         "h=Tanh(Plus(Times(R,a),x))", "z=Plus(h,a)", causal=False),
    time("LoopReadsWords", "p=PastValue(5,1,z,timeStep=1)", "z=Minus(dense,p)", words=["dense"]),
    # ---- combinations ----
    frames("TransposeThenTimes", "t=TransposeDimensions(m)", "W=" + parameter(4, 3), "z=Times(W,t)"),
    frames("TimesThenScale", "W=" + parameter(3, 4), "c=Constant(0.5)", "t=Times(W,x)", "z=ElementTimes(c,t)"),
    frames("TimesSigmoid", "s=Sigmoid(x)", "z=ElementTimes(x,s)"),
    frames("Layer", "W=" + parameter(3, 4), "b=" + parameter(3, 1), "t=Plus(Times(W,x),b)", "z=RectifiedLinear(t)"),
    frames("ScaledSoftmax", "c=Constant(2)", "t=ElementTimes(c,x)", "z=Softmax(t)"),
    time("ScaledLoop", "W=" + parameter(3, 4), "R=" + parameter(3, 3), "c=Constant(0.5)",
         "p=PastValue(3,1,h,timeStep=1)", "h=Tanh(Plus(Times(W,x),Scale(c,Times(R,p))))", "z=Softmax(h)"),
    time("DelayOfDelay", "p=PastValue(4,1,x,timeStep=1)", "t=PastValue(4,1,p,timeStep=2)", "z=Minus(t,p)"),
    time("LoopOfAliases", "W=" + parameter(3, 4), "p=PastValue(3,1,d,timeStep=1)", "h=Plus(p,Times(W,x))",
         "d=Dropout(h)", "z=Pass(d)"),
    time("LoopOfMatrices", "W=" + parameter(2, 3), "p=PastValue(2,3,h,timeStep=1)", "t=TransposeDimensions(p)",
         "k=Times(W,t)", "R=" + parameter(2, 2), "g=Times(R,m)", "s=ReduceElements(k,axis=2)", "h=Plus(g,s)",
         "z=Pass(h)"),
    time("DynamicAxis", "ax=DynamicAxis()", "W=" + parameter(3,4), "p=PastValue(4,1,x,timeStep=1)", "z=Times(W,p)"),
    frames("StackOfParameters", "b=" + parameter(4,1), "c=" + parameter(4,1), "d=Plus(b,c)", "e1=Exp(d)",
           "z=RowStack(e1,x,b)"),
    frames("StackParameterFirst", "b=" + parameter(3,1), "z=RowStack(b,n)"),
    frames("TimesRank2", "W=" + parameter(2,3,4), "z=Times(W,x,outputRank=2)"),
    frames("TimesTwice", "W=" + parameter(2,3,4), "t=Times(W,x,outputRank=2)", "U=" + parameter(5,2,3),
           "z=Times(U,t)"),
    frames("Reconcile", "r=ReconcileDynamicAxis(x,y)", "z=Plus(r,x)"),
    time("DelaysBothWays", "a=PastValue(4,1,x,timeStep=1)", "bb=FutureValue(4,1,a,timeStep=1)", "c=TimeReverse(bb)",
         "z=LogSoftmax(c)", causal=False),
    time("LoopsBothWays", "W=" + parameter(3,4), "R=" + parameter(3,3), "f=FutureValue(3,1,h,timeStep=1)",
         "h=Tanh(Plus(Times(W,x),Times(R,f)))", "p=PastValue(3,1,k,timeStep=1)", "k=Sigmoid(Plus(h,p))",
         "z=RowStack(k,f,p)", causal=False),
    time("JoinAndSplit", "j=Reshape(x,8)", "s=Reshape(j,4)", "p=PastValue(4,1,s,timeStep=1)",
         "z=Plus(p,x)", even=True, causal=False),
    time("LoopOfSplitSteps", "s=Reshape(x,2)", "R=" + parameter(2,2), "p=PastValue(2,1,z,timeStep=1)",
         "z=Tanh(Plus(s,Times(R,p)))", derived=2, causal=False),
    time("LoopAheadOfSplitSteps", "s=Reshape(x,2)", "R=" + parameter(2,2), "p=FutureValue(2,1,z,timeStep=1)",
         "z=Tanh(Plus(s,Times(R,p)))", derived=2, causal=False),
    time("WordsAhead", "E=" + parameter(3,5), "g=LookupTable(E,words)", "f=FutureValue(9,1,g,timeStep=1)",
         "z=Tanh(f)", words=["words"], causal=False),
    time("LoopOfWordProducts", "W=" + parameter(3,5), "p=PastValue(3,1,h,timeStep=1)", "h=Plus(Times(W,word),p)",
         "z=Hardmax(h)", words=["word"], floatOnly=True),
    time("WordsInLoop", "p=PastValue(5,1,word,timeStep=1)", "z=Plus(p,h)",
         "h=PastValue(5,1,z,timeStep=2)", words=["word"]),
    time("LstmLayers", *lstm_weights("W", 3, 4), "h=LSTM(x,Wi,Wf,Wo,Wc)", *lstm_weights("U", 2, 3),
         "z=LSTM(h,Ui,Uf,Uo,Uc)", floatOnly=True, causal=False),
    time("PoolingInTime", "p=PastValue(1,1,n)", "k=Pooling(v,max,{3,2,1},stride={2,1,1})", "z=ElementTimes(k,p)"),
    time("NormalizationInTime", "p=PastValue(1,1,n)", "s=" + parameter(2,1), "b=" + parameter(2,1),
         "M=Constant(0.5,rows=2)", "D=Constant(2,rows=2)",
         "k=BatchNormalization(i,s,b,M,D,spatial=true,imageLayout=HWC)", "z=ElementTimes(k,p)"),
    frames("ConvolutionWhole", "W=" + parameter(2,24),
           "z=Convolution(W,v,{4,3,2},mapCount=2,autoPadding=false)", floatOnly=True),
    frames("ConvolutionOfVector", "W=" + parameter(2,3),
           "z=Convolution(W,x,{3},mapCount=2,autoPadding=true)", floatOnly=True),
    frames("ConvolutionOfMatrix", "W=" + parameter(2,4),
           "z=Convolution(W,m,{2,2},mapCount=2,autoPadding=false)", floatOnly=True),
    frames("PoolingOfVector", "z=Pooling(x,max,{3},stride=2)"),
    frames("PoolingOfMatrix", "z=Pooling(m,average,{2,2},stride=1)", floatOnly=True),
]
