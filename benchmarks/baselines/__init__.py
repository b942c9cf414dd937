"""Other people's methods, written anew from their descriptions, to be measured beside ours."""
