import { describe, expect, it } from 'vitest'
import { classifyError, type ErrorKind } from '../src/index.ts'
import { groupOfStatus, kindOfGroup, type Group } from '../src/errors/codes.ts'
import { signOf, signs } from '../src/errors/signs.ts'
import { classify, inEveryShape } from './error-answers.ts'
import { startProcessorTime } from './support.ts'

const groups = Object.keys(kindOfGroup) as Group[]
const statuses = [400, 401, 402, 403, 404, 413, 429, 500]

/** The only example that a second sign also matches on purpose: a server that answers 5xx with a validation error. */
const blamedOnServer = '`inputs` tokens + `max_new_tokens` must be'

/** Returns the expected kind of a message with a status: the sign's kind within its groups, else the kind of the status. */
function documented(kind: ErrorKind, signGroups: readonly Group[], example: string, group: Group): ErrorKind {
  if (signGroups.includes(group)) return kind
  return group === 'server' && example.includes(blamedOnServer) ? 'bad-request' : kindOfGroup[group]
}

describe('classifyError: no pattern matches the message of another kind', () => {
  it.each(signs.map((sign) => [sign.example, sign] as const))('L73: "%s" in every group', (example, sign) => {
    const told = groups.map((group) => [group, signOf(group, example)?.kind ?? kindOfGroup[group]])
    expect(told).toEqual(groups.map((group) => [group, documented(sign.kind, sign.groups, example, group)]))
  })

  it.each(signs.map((sign) => [sign.example, sign] as const))('L74: "%s" with every status', (example, sign) => {
    for (const status of statuses) {
      const kind = documented(sign.kind, sign.groups, example, groupOfStatus(status)!)
      for (const [shape, answer] of inEveryShape(status, example)) {
        expect([status, shape, classify(answer).kind]).toEqual([status, shape, kind])
      }
    }
  })

  it("L74: a refused signature of Google's account keys is not an error of the history", () => {
    for (const body of ['invalid_grant: Invalid JWT Signature.', { error_description: 'Invalid JWT Signature.' }]) {
      expect(classify({ status: 400, body }).kind).toBe('bad-request')
    }
  })
})

describe('classifyError: hostile lengths', () => {
  const length = 10_000
  const halves = signs.flatMap(({ example }) => [example, example.slice(0, example.length / 2)])
  const others = ['<title>', '<title> ', 'bearer ', 'sk-', 'eyJ', 'AIza', 'api_key: ', '?key=', '://', '1s', 'retry in 1s']
  const hostile = [...halves, ...others, ' ', '1', 'a', '{', '['].flatMap((text) => [
    text.repeat(Math.ceil(length / text.length)),
    `${text}${' '.repeat(length)}`,
    `${text}${'1'.repeat(length)}`,
  ])

  it('L77: no text takes long to read, wherever it is', () => {
    const slow = hostile.filter((text) => {
      const used = startProcessorTime()
      classifyError(new Error(text))
      classifyError({ statusCode: 429, message: '', responseBody: text, responseHeaders: { 'retry-after': text } })
      classifyError({ statusCode: 502, message: '', responseBody: `<html>${text}` })
      return used() > 1_000
    })
    expect(slow.map((text) => text.slice(0, 60))).toEqual([])
  })
})
