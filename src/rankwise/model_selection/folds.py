from rankwise.model_selection.scoring import Folds as Folds
