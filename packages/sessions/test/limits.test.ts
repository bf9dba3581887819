import { fakeIds } from '@bowline/testing'
import type { Message } from '@bowline/llm'
import { manualClock } from '@bowline/llm/testing'
import { verifyWebhook } from '@bowline/sessions'
import { expect, it } from 'vitest'
import { inputChecks } from '../src/arguments.ts'
import { checkMessagesOptions } from '../src/commands/check-options.ts'
import { historyOf } from '../src/commands/history.ts'
import { givenSchedule } from '../src/commands/schedules/schedule-record.ts'
import { isLabel } from '../src/commands/tree/labels.ts'
import { webhookFields } from '../src/commands/webhook.ts'
import { checkPageRequest } from '../src/contract/check-query.ts'
import { checkPlace } from '../src/contract/check-state.ts'
import { pageLimit } from '../src/contract/paging.ts'
import { checkAnyKey, checkEntryId, checkInputId, checkKey } from '../src/keys.ts'
import { checkMemoriesOptions, checkNote, checkNoteKey } from '../src/memories/check-options.ts'
import { checkScope } from '../src/memories/scope.ts'
import { vectorOf } from '../src/memories/vectors.ts'
import { signatureOf } from '../src/net/webhook-signature.ts'

/** Uses a value of this size. Throws or rejects if it is refused. */
type Use = (size: number) => unknown

const letters = (size: number): string => 'x'.repeat(size)
/** A text of as many bytes, most in characters of two bytes. */
const bytes = (size: number): string => 'ä'.repeat(Math.floor(size / 2)) + letters(size % 2)
const listOf = <T>(size: number, item: (place: number) => T): T[] => Array.from({ length: size }, (_, place) => item(place))
const isTrue = (given: boolean): void => expect(given).toBe(true)
const secret = 'a secret of sixteen characters'

/** A key of this length, of a child six levels below. */
function childKey(size: number): string {
  const levels = `~agent~${letters(80)}`.repeat(6)
  return letters(size - levels.length) + levels
}

/** The last of these signatures is the right one. */
function signed(size: number): boolean {
  const clock = manualClock(1_750_000_000_000)
  const [time = '', right = ''] = signatureOf('{}', [secret], clock.now()).split(',')
  const header = [time, ...listOf(size - 2, () => `v1=${'0'.repeat(64)}`), right].join(',')
  return verifyWebhook({ 'bowline-signature': header }, '{}', secret, { clock })
}

/** The bound, its highest accepted size, and a use of it. A row of `scripts/test/bounds.test.ts` names the bound. */
const table: readonly (readonly [bound: string, highest: number, use: Use])[] = [
  ['commands/check-options.ts mostOnPage', 1000, (limit) => checkMessagesOptions('options', { limit })],
  [
    'commands/history.ts mostMessages',
    1000,
    (size) =>
      historyOf(
        listOf(size, (): Message => ({ role: 'user', content: 'x' })),
        fakeIds(),
      ),
  ],
  ['commands/schedules/schedule-record.ts maxIdBytes', 150, (size) => givenSchedule({ every: 1000, input: 'x', id: bytes(size) })],
  ['commands/tree/labels.ts longestLabel', 200, (size) => isTrue(isLabel(letters(size)))],
  [
    'commands/webhook.ts mostSecrets',
    4,
    (size) =>
      webhookFields(inputChecks, ['https:']).secret(
        'secret',
        listOf(size, () => secret),
      ),
  ],
  ['contract/check-query.ts mostOnPage', 1000, (limit) => checkPageRequest('page', { limit })],
  ['contract/check-state.ts maxBytes', 1024, (size) => checkPlace(bytes(size), 'id')],
  ['contract/check-state.ts maxBytes', 1024, (size) => checkPlace('space', bytes(size))],
  ['contract/paging.ts highestLimit', 1000, (size) => expect(pageLimit(size)).toBe(size)],
  ['keys.ts maxKeyBytes', 256, (size) => checkKey(letters(size))],
  ['keys.ts maxChildKeyBytes', 700, (size) => checkAnyKey(childKey(size))],
  ['keys.ts maxInputIdBytes', 200, (size) => checkInputId('id', bytes(size))],
  ['keys.ts maxEntryIdCharacters', 800, (size) => checkEntryId('entryId', letters(size))],
  ['memories/check-options.ts limits', 200, (size) => checkNoteKey('key', letters(size))],
  ['memories/check-options.ts limits', 16, (size) => checkNote({ text: 'x', tags: listOf(size, (place) => `tag ${place}`) }, 100)],
  ['memories/check-options.ts limits', 64, (size) => checkNote({ text: 'x', tags: [letters(size)] }, 100)],
  ['memories/check-options.ts limits', 65_536, (size) => checkMemoriesOptions('options', { maxNoteBytes: size })],
  ['memories/scope.ts maxBytes', 200, (size) => checkScope('scope', { user: bytes(size) })],
  ['memories/vectors.ts mostNumbers', 8192, (size) => vectorOf(() => Promise.resolve([listOf(size, () => 1)]), 'text', undefined)],
  ['net/webhook-signature.ts mostSignatures', 16, (size) => isTrue(signed(size))],
]

it.each(table)('%s: %i is accepted, one more is refused', async (_bound, highest, use) => {
  await use(highest)
  await expect((async () => use(highest + 1))()).rejects.toThrow()
})
