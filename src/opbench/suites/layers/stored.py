"""The name under which the steps of models are stored.

Every run asks at its end whose results it has: this file imports nothing, least of all the layers.
"""

#: The suite under which training steps of users' models are stored.
MODELS = "models"
