"""From files to models to judgements: what the command `rankwise` and its reports are made of."""
