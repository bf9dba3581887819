import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '../..')
const read = (file: string): string => readFileSync(join(root, file), 'utf8')

/** Returns the members of a union of texts. */
function unionOf(file: string, name: string): readonly string[] {
  const [, members = ''] = new RegExp(`export type ${name} =\\n((?:  (?:\\||/\\*\\*).*\\n)+)`).exec(read(file)) ?? []
  return [...members.matchAll(/^ {2}\| '([^']+)'/gm)].map(([, code = '']) => code)
}

/** Returns the keys of an object that begins with this line. */
function keysOf(file: string, opening: string): readonly string[] {
  const text = read(file)
  const start = text.indexOf(opening)
  const body = text.slice(start, text.indexOf('\n}', start))
  return [...body.matchAll(/^ {2}'?([\w-]+)'?: \{/gm)].map(([, code = '']) => code)
}

function documented(section: string): readonly string[] {
  const [, text = ''] = read('docs/errors.md').split(`\n## ${section}\n`)
  return [...(text.split('\n## ')[0] ?? '').matchAll(/^\| `([\w-]+)` \|/gm)].map(([, code = '']) => code)
}

describe('the page of error codes', () => {
  it.each([
    ['Model calls', unionOf('packages/llm/src/model-error.ts', 'ErrorKind')],
    ['Turns', unionOf('packages/agent-loop/src/events/turn-events.ts', 'AgentErrorCode')],
    ['Sessions', unionOf('packages/sessions/src/errors.ts', 'SessionErrorCode')],
    ['Bridge', keysOf('packages/bridge/src/errors.ts', 'export const errorTable = {')],
    ['Server', keysOf('packages/server/src/problems.ts', 'const kinds = {')],
    ['Client', unionOf('packages/client/src/client-error.ts', 'ClientErrorCode')],
  ])('lists each code of %s once, and no other', (section, codes) => {
    expect(codes.length).toBeGreaterThan(5)
    expect(documented(section)).toEqual(codes)
  })
})
