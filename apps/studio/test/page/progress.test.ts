import { describe, expect, it } from 'vitest'
import { readProgress } from '../../src/page/conversation/progress.ts'

describe('progress of a tool', () => {
  it('reads the bar from the last counted line and shows the last lines', () => {
    const text = Array.from({ length: 9 }, (_, index) => `${index + 1}/24 guides/${index}.md\n`).join('')
    expect(readProgress(text)).toEqual({
      done: 9,
      total: 24,
      lines: ['5/24 guides/4.md', '6/24 guides/5.md', '7/24 guides/6.md', '8/24 guides/7.md', '9/24 guides/8.md'],
    })
  })

  it.each(['', 'just words\n', 'a/b c', '3/0 nothing', '1/'])('has no bar for %j', (text) => {
    expect(readProgress(text).done).toBeUndefined()
  })
})
