import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '../..')
const sources = globSync('{packages,apps,examples,scripts,benchmarks}/**/*.{ts,tsx,mjs}', {
  cwd: root,
  exclude: (name) => /^(?:node_modules|dist|\.)/.test(name),
}).sort()

/** Ways of writing that readers stumble over, and how many comments may have each. The numbers only fall. */
const patterns: Readonly<Record<string, { readonly form: RegExp; readonly most: number }>> = {
  'a person without a role (whoever, nobody, somebody, who …)': { form: /\b(?:whoever|nobody|somebody)\b|^Who\b/i, most: 2 },
  '“behind” for after': { form: /\bbehind\b/i, most: 3 },
  'an opener without a verb (Of a …, That of …, What …, How …)': {
    form: /^(?:Of (?:a|an|the|all|each)|That of|Those (?:of|that)|What|How|Whose|Where) /,
    most: 0,
  },
}

/** The texts of all comments of a file, each on one line. */
function commentsOf(file: string): readonly string[] {
  const text = readFileSync(join(root, file), 'utf8')
  const scanner = ts.createScanner(
    ts.ScriptTarget.ES2024,
    false,
    file.endsWith('x') ? ts.LanguageVariant.JSX : ts.LanguageVariant.Standard,
    text,
  )
  const found: string[] = []
  for (let kind = scanner.scan(); kind !== ts.SyntaxKind.EndOfFileToken; kind = scanner.scan()) {
    if (kind === ts.SyntaxKind.SingleLineCommentTrivia || kind === ts.SyntaxKind.MultiLineCommentTrivia)
      found.push(plain(scanner.getTokenText()))
  }
  return found
}

function plain(comment: string): string {
  return comment
    .replaceAll(/^\/[/*]+|\*\/$|^\s*\*/gm, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
}

const comments = sources.flatMap((file) => commentsOf(file).map((text) => ({ file, text })))

describe('comments', () => {
  it('are found', () => expect(comments.length).toBeGreaterThan(5000))

  it.each(Object.entries(patterns))('use plain words: %s', (_, { form, most }) => {
    const found = comments.filter(({ text }) => form.test(text))
    const some = found.slice(-10).map(({ file, text }) => `${file}: ${text.slice(0, 120)}`)
    expect(found.length, `more than ${most}, for instance\n${some.join('\n')}`).toBeLessThanOrEqual(most)
    expect(found.length, `fewer than ${most}: lower the number here`).toBeGreaterThanOrEqual(most)
  })
})
