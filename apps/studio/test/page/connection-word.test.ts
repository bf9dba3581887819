import { describe, expect, it } from 'vitest'
import { nextWord } from '../../src/page/session/connection-word.ts'
import type { ConnectionSignal, ConnectionWord } from '../../src/page/session/connection-word.ts'

function story(...signals: readonly ConnectionSignal[]): ConnectionWord[] {
  let word: ConnectionWord = 'idle'
  return signals.map((signal) => (word = nextWord(word, signal)))
}

describe('the connection in words', () => {
  it('D24: shows a lost connection as lost, waiting, resumed', () => {
    expect(story('connecting', 'open', 'waiting', 'time-passed', 'connecting', 'open', 'time-passed')).toEqual([
      'idle',
      'connected',
      'lost',
      'waiting',
      'waiting',
      'resumed',
      'connected',
    ])
  })

  it('shows resumed also if the server is back before "lost" could be read', () => {
    expect(story('open', 'waiting', 'connecting', 'open')).toEqual(['connected', 'lost', 'lost', 'resumed'])
  })

  it('goes from attempt to attempt without flicker', () => {
    expect(story('open', 'waiting', 'time-passed', 'connecting', 'waiting', 'connecting').slice(2)).toEqual(Array(4).fill('waiting'))
  })
})
