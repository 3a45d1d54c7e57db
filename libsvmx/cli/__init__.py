"""The commands. Each is a module of its name with ``main(argv)``, its exit code, and ``entry``, which ends the
process with it. The console scripts stand in ``start``.

    train, predict, scale              svm-train, svm-predict, svm-scale
    grid, easy, subset, checkdata      LIBSVM's scripts; of grid, gridjob is the command line,
                                       gridfile the results file, startfile what a column starts from,
                                       gridtables and gridplot what is shown
    update                             rows that join a model and leave it
    compress, export                   fewer support vectors; models as C, JSON, ONNX

    options        LIBSVM's grammar: letters, flags, long names, switches
    solveroptions  --solver and the options of solvers, made from their settings
    process        how a command lives and ends: exit codes, signals, messages
    helptext       usages as wide as the terminal

``gridjob.Job`` and ``update.Job`` inherit ``train.Job``, which holds what the command line asks for. Open
``train.grammar`` first. What is printed stands in libsvmx/io/transcript.py.
"""
