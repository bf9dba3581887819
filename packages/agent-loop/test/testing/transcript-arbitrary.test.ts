import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { randomRuns } from '../../../../scripts/test-length.ts'
import { checkTranscript, transcriptArbitrary } from '@bowline/testing'
import { earlierMessages } from '../../src/transcript/earlier-messages.ts'
import { checkPrompt, promptProviders } from '../support/check-prompt.ts'

const runs = randomRuns(150)

describe('transcriptArbitrary', () => {
  it('A12: its transcripts are valid, and are stored unchanged', () => {
    fc.assert(
      fc.property(transcriptArbitrary(fc), (messages) => {
        expect(checkTranscript(messages)).toEqual([])
        expect(earlierMessages(messages)).toEqual(messages)
      }),
      runs,
    )
  })

  it.each(promptProviders)('A113: a prompt made from them is valid without a repair: %s', (provider) => {
    fc.assert(
      fc.property(transcriptArbitrary(fc, { maxTurns: 3 }), (messages) => {
        let failed = false
        const view = messages.filter((message) => {
          if (message.role !== 'tool-result') failed = message.role === 'assistant' && message.stopReason === 'error'
          return !failed
        })
        expect(checkPrompt(view, provider)).toEqual([])
      }),
      runs,
    )
  })

  it.each(promptProviders)('A113: a result that is left out, moved or repeated is reported: %s', (provider) => {
    // A cut call of a stopped answer is not shown, with or without its result.
    const withResults = transcriptArbitrary(fc).filter(
      (messages) =>
        messages.some(({ role }) => role === 'tool-result') &&
        !messages.some((message) => message.role === 'assistant' && message.stopReason === 'aborted'),
    )
    fc.assert(
      fc.property(withResults, fc.nat(), (messages, pick) => {
        const places = [...messages.keys()].filter((place) => messages[place]?.role === 'tool-result')
        const place = places[pick % places.length] ?? 0
        const result = messages[place]
        if (!result) return
        for (const broken of [
          messages.toSpliced(place, 1),
          [result, ...messages.toSpliced(place, 1)],
          messages.toSpliced(place, 0, result),
        ]) {
          expect(checkPrompt(broken, provider)).not.toEqual([])
          expect(checkTranscript(broken)).not.toEqual([])
        }
      }),
      randomRuns(60),
    )
  })

  it('has every feature of a transcript', () => {
    const seen = new Set<string>()
    for (const messages of fc.sample(transcriptArbitrary(fc), { numRuns: 300, seed: 7 })) {
      for (const message of messages) {
        if (message.role === 'assistant') seen.add(message.stopReason)
        if (message.role === 'tool-result' && 'status' in message) seen.add(message.status)
      }
    }
    expect([...seen].sort()).toEqual(['aborted', 'cancelled', 'denied', 'error', 'length', 'result', 'stop', 'tool-calls', 'unknown'])
  })

  it('stays within its bounds', () => {
    for (const messages of fc.sample(transcriptArbitrary(fc, { maxTurns: 1, maxCalls: 0 }), { numRuns: 50, seed: 8 })) {
      expect(messages.filter((message) => message.role === 'tool-result')).toEqual([])
      expect(messages.filter((message) => message.role === 'assistant').length).toBeLessThanOrEqual(1)
    }
  })
})
