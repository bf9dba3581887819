import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { drawTurn, turns } from './turns.ts'

const page = join(import.meta.dirname, '../../../../docs/concepts.md')
const accepts = process.env.ACCEPT_DRAWINGS === '1'

/** Returns the drawing of this name on the page, and the text before and after it. */
function drawingOf(name: string): readonly [before: string, drawing: string, after: string] {
  const text = readFileSync(page, 'utf8')
  const opening = `\`\`\`text ${name}\n`
  const start = text.indexOf(opening) + opening.length
  if (start < opening.length) throw new Error(`docs/concepts.md has no drawing “${name}”.`)
  const end = text.indexOf('```', start)
  return [text.slice(0, start), text.slice(start, end).trimEnd(), text.slice(end)]
}

describe('the drawings of the concepts', () => {
  it.each(Object.entries(turns))(
    'D44: “%s” shows the commits of a run (if it has changed on purpose: ACCEPT_DRAWINGS=1)',
    async (name, turn) => {
      const recorded = await drawTurn(turn())
      const [before, drawing, after] = drawingOf(name)
      if (accepts) writeFileSync(page, `${before}${recorded}\n${after}`)
      else expect(drawing).toBe(recorded)
    },
  )
})
