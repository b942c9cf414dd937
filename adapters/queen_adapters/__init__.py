"""Adapters that put queen-sdk in front of chatbot frameworks, one module each."""
