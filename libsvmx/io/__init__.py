"""Files of LIBSVM and our own, in and out.

files -> compressed             files read whole or in blocks
outputs -> interrupted_write    files written whole or not at all, together, locked; what a kill between two leaves
svmlight                        data files, at once or in parts          -> textparse
modelfile                       models: header here, vectors             -> textparse, textwrite
file_kind                       what a file is that is no model
exporting -> cfile, onnxfile     models for programs without libsvmx
rangefile                       scaling factors; rows that are scaled     -> textwrite
weightfile                      weights of rows
statefile                       states that rows join and leave
textparse -> scan.h, decimal.h  text to numbers, without an object per token
textwrite                       numbers as C's printf writes them
transcript                      what commands print, character for character
"""
