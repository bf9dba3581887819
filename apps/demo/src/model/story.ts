import type { Intent } from './intent.ts'

const plan = `They want a story. One about the knot this runtime is named after fits best: short, true at its heart, \
with something to look at. I will put the steps of the knot into a table and end with a few lines of code.`

const tale = `## The knot that remembered

Mara was the youngest on the *Petrel*, and the only one who tied her knots twice. "Once for the rope," she said, \
"and once for me."

One night the wind took the lamp, then the sail, then the man at the wheel off his feet. In the dark nobody knew which \
lines still held. Mara felt along the rail until she found her own: **a bowline**, wet and hard as wood. It had \
not slipped by the width of a finger.

| step | what the hands do | what it is good for |
| ---- | ----------------- | ------------------- |
| 1 | make a small eye in the rope | a place to come back to |
| 2 | lead the end up through the eye | begin nothing you cannot finish |
| 3 | take it around the standing part | lean on what is already there |
| 4 | go back down through the eye, pull | now it holds, whatever happens |

In the morning the captain asked how she had known that it would hold.

> "I did not know," said Mara. "I only made sure that I could always start again from the last turn."

Years later she taught it to a machine, in the only words that it understood:

\`\`\`ts
const knot = await session.send('hold')
for await (const event of knot) log(event)   // the wind may take the lamp now
\`\`\`

And it held, and when the storm was over, it came loose with one pull.`

export const story: Intent = {
  name: 'story',
  keyWords: /\b(story|tale)\b/i,
  answer: () => [
    { type: 'reasoning', text: plan },
    { type: 'text', text: tale },
  ],
}
