import { fieldsOf, reasonOf, textIn } from './intent.ts'
import type { Intent, ToolAnswer } from './intent.ts'

const defaultReport = 'q3-draft'

export const deleteReport: Intent = {
  name: 'delete-report',
  keyWords: /\b(delete|remove)\b.*\breport\b/i,
  answer({ text, results }) {
    const report = reportIn(text)
    const result = results.at(-1)
    if (!result) {
      return [
        {
          type: 'text',
          text: `I can delete the report \`${report}\` for good. You decide: read the arguments, and change them if you like.`,
        },
        { type: 'call', toolName: 'delete_report', input: { report, forever: true } },
      ]
    }
    return [{ type: 'text', text: describe(result, report) }]
  },
}

/** Returns the word after "report" if it has the form of a report name: `q1-final`. */
function reportIn(text: string): string {
  return /\breport\s+`?((?=[a-z0-9-]*\d)[a-z0-9-]{1,40})\b/i.exec(text)?.[1]?.toLowerCase() ?? defaultReport
}

function describe(result: ToolAnswer, asked: string): string {
  if (result.outcome === 'denied') return `I have **not** deleted \`${asked}\`: ${reasonOf(result)}. It is where it was.`
  if (result.outcome === 'error') return `\`${asked}\` is not deleted as far as I know. What I was told: ${reasonOf(result)}`
  const { report, deleted, forever } = fieldsOf(result.value)
  const name = textIn(report) || asked
  const changed = name !== asked || forever === false ? ' That is what you have made of my arguments.' : ''
  if (deleted !== true) return `There is no report \`${name}\` any more, so there was nothing to delete.`
  return forever === false
    ? `\`${name}\` is in the bin, from where it can be taken back.${changed}`
    : `\`${name}\` is **deleted** for good.${changed}`
}
