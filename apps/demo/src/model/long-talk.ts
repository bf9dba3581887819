import { fieldsOf, reasonOf } from './intent.ts'
import type { Intent } from './intent.ts'

const volumes = 3

/** Reads so much text that the context must be compacted. */
export const longTalk: Intent = {
  name: 'long-talk',
  keyWords: /\blong talk\b/i,
  answer({ results }) {
    const refused = results.find(({ outcome }) => outcome !== 'result')
    if (refused) return [{ type: 'text', text: `I could not read on: ${reasonOf(refused)}` }]
    if (results.length < volumes) {
      const text = results.length === 0 ? 'I read the whole logbook to you, volume by volume. That fills my memory.' : 'The next volume.'
      return [
        { type: 'text', text },
        { type: 'call', toolName: 'read_logbook', input: { volume: results.length + 1 } },
      ]
    }
    const days = results.reduce((sum, { value }) => sum + Number(fieldsOf(value)['days'] ?? 0), 0)
    return [
      {
        type: 'text',
        text: `That were ${volumes} volumes with ${days} days. My context is nearly full now: it is summarised behind this turn, and every word stays readable to you.`,
      },
    ]
  },
}

/** Writes the summary for a compaction: the requests of users, and the tools that answered them. */
export const summary: Intent = {
  name: 'summary',
  keyWords: /^<(previous-summary|conversation|turn-under-way)>\n/,
  answer({ text }) {
    const asked = [...text.matchAll(/^\[user\]\n(.{1,120})/gm)].map(([, line = '']) => `- "${line}"`)
    const tools = new Set([...text.matchAll(/^\[call of ([\w-]+)\]/gm)].map(([, name = '']) => name))
    const none = ['none']
    return [
      {
        type: 'text',
        text: [
          ...['## Goal', ...(asked.length > 0 ? ['The user tries out what this demo can do.'] : none)],
          ...['## Rules from the user', 'none'],
          ...['## Done', ...(asked.length > 0 ? asked.slice(-12) : none)],
          ...['## In progress', 'none', '## Blocked', 'none', '## Decisions and reasons', 'none', '## Next', 'none'],
          ...['## Exact facts', ...(tools.size > 0 ? [`Tools used: ${[...tools].join(', ')}`] : none)],
        ].join('\n'),
      },
    ]
  },
}
