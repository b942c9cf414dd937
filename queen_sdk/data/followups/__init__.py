"""Follow-ups: a corpus of our own making, of what users of chatbots say and other corpora lack.

Frames are dialogues with slots (`en.txt`, `zh.txt`; those of the evaluation part in
`*-held-out.txt`), fillers stand in `*-lists.txt`, what can be said at any time in `*-anytime.txt`
(that of the evaluation part in `*-anytime-held-out.txt`).
`frames` reads them, `writing` fills them in, `generator` draws examples.

A follow-up is written with its edits: `[it>the blue tent]` replaces, `[>in June]` inserts. The
references keep the user's words where they can, and copy as little as makes the sense plain:

- a pronoun or "that one" becomes the words that last named the thing; "the red one" only gets its
  noun; an expletive "it" and words of one's own ("I", "my", 我, 你) stay;
- "what about X?" and "how about X?" become the question up to X, and get what stood behind X;
  "and X?" keeps its "and"; 那X呢 keeps 那, and 呢 becomes what followed X;
- a bare question word stays and gets the rest of the clause ("why [>is it closed]?"); so does an
  answer to the bot's question ("in Lyon", 上海的);
- "which one is cheaper?" becomes "which of the A and the B is cheaper?", 哪个 gets A和B in front;
- thanks, yes and no, small talk, changes of subject and complete questions stay as they are.
"""
