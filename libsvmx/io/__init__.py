"""Files of LIBSVM and our own, in and out.

files                           whole files, plain or compressed, read at once and written whole or not at all
svmlight, batches               data files, at once or in parts          -> textparse
modelfile                       models: header here, vectors             -> textparse, textwrite
rangefile, scaling              scaling factors, and rows that are scaled
statefile                       states that rows join and leave
textwrite -> numbers            numbers as C's printf writes them
"""
