"""svmx-toy: a page in the browser on which rows are put, moved and removed, while the model follows.

    server      HTTP on the loopback address: who may ask, how much, and what is answered
    session     rows, parameters, undo; each change as the page names it
    follower    the model of the rows: along the exact path where there is a state, else trained anew
    picture     what is drawn: decision values on a grid, marks of support vectors, scores
    rows        rows of the plane as a problem, and as LIBSVM's data
    examples    rows to begin with

    page.html, page.css                              what is seen
    page.js, requests.js, drawing.js, contours.js    what is done there: begin with page.js

Open ``session.Session`` first: it knows nothing of HTTP. The command is libsvmx/cli/toy.py.
"""
