"""From data to a model with its record: what the command `rankwise` and its report are made of.

ranking_data      items with features, scores, queries and names; edges between objects
recipe            which learner to train, with which options; the table of learners
search            choosing a parameter by cross-validation; the path of its candidates
training          a recipe and data in, a trained model out
trained_model     scaler, ranker and the record of the training: what model files hold
recipe_choice     several recipes: which learner, kernel and width
judging           measures with intervals
nested_judging    whole recipes inside outer folds, and the verdict about an existing ranking
explaining        the difference of two scores as a sum of named parts
"""
