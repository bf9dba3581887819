import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { resolveSchema, type JSONSchema7 } from '../src/index.ts'

interface Group {
  readonly description: string
  readonly schema: JSONSchema7
  readonly tests: readonly { readonly description: string; readonly data: unknown; readonly valid: boolean }[]
}

/** The tests of draft 4 that all validators must pass: the newest that the package has. */
const folder = join(dirname(createRequire(import.meta.url).resolve('json-schema-test-suite/package.json')), 'tests/draft4')
const files = readdirSync(folder).filter((name) => name.endsWith('.json'))
const groupsOf = (file: string): readonly Group[] => JSON.parse(readFileSync(join(folder, file), 'utf8')) as readonly Group[]

/** Keywords of each file that are not checked: values that they refuse pass, and nothing else does. */
const unchecked: Readonly<Record<string, readonly string[]>> = {
  'definitions.json': ['$ref'],
  'dependencies.json': ['dependencies'],
  'not.json': ['not'],
  'ref.json': ['$ref'],
  'refRemote.json': ['$ref'],
}

describe('L104: the JSON Schema Test Suite', () => {
  it.each(files)('L104: %s', async (file) => {
    const named = new Set<string>()
    for (const { description, schema, tests } of groupsOf(file)) {
      const { validate, unchecked: skipped } = await resolveSchema(schema)
      for (const keyword of skipped) named.add(keyword)
      for (const test of tests) {
        const { ok } = await validate(test.data)
        if (test.valid || skipped.length === 0) expect(ok, `${description}: ${test.description}`).toBe(test.valid)
      }
    }
    expect([...named].sort()).toEqual(unchecked[file] ?? [])
  })
})
