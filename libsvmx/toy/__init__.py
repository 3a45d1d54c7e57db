"""svmx-toy: a page in the browser on which rows are added, moved and removed, and their model is shown.

    server      HTTP on the loopback address: access, limits, answers
    session     rows, parameters, undo; a method for each change of the page
    follower    the model of the rows, along the exact path if there is a state, else by a training
    picture     content of the picture: decision values on a grid, marks of support vectors, scores
    rows        rows of the plane as a problem, and as LIBSVM's data
    examples    example rows

    page.html, page.css                              appearance
    page.js, requests.js, drawing.js, contours.js    behaviour: begin with page.js

Open ``session.Session`` first: it knows nothing of HTTP. The command is libsvmx/cli/toy.py.
"""
