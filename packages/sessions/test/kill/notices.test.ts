import { describe, expect, it, onTestFinished } from 'vitest'
import { rounds } from '../../../../scripts/test-length.ts'
import { receiver } from '../notify/receiver.ts'
import { Workplace } from './worker-process.ts'

function workplace(storeName: string): Workplace {
  const place = new Workplace(storeName)
  onTestFinished(() => place.remove())
  return place
}

const stores = ['data.db', 'files']
const many = rounds({ short: 60, long: 10_000 })

describe('a process that is killed while it sends a notice', () => {
  it.each(stores)('S212: between the commit and its POST, over %s: the next process posts', async (name) => {
    const place = workplace(name)
    const hook = await receiver()
    const url = `http://hooks.example:${hook.port}/`
    const dying = place.startProgram('notifying', [place.store, url, '0', '1', 'hangs'])
    await dying.readUntil((message) => message.type === 'moment' && message.what === 'posts')
    await dying.kill()
    expect(hook.received).toEqual([])
    place.startProgram('notifying', [place.store, url, '1'])
    const [one] = await hook.count(1)
    expect(one?.body).toMatchObject({ type: 'settled', n: 1, session: 'room:0', outcome: 'completed' })
  })

  it.each(stores)('S212: between the POST and its outcome, over %s: the next process posts again, under the same id', async (name) => {
    const place = workplace(name)
    let isWell = false
    const hook = await receiver((response) => (isWell ? void response.writeHead(204).end() : undefined))
    const url = `http://hooks.example:${hook.port}/`
    const dying = place.startProgram('notifying', [place.store, url, '0', '1'])
    await hook.count(1)
    await dying.kill()
    isWell = true
    place.startProgram('notifying', [place.store, url, '1'])
    const [one, two] = await hook.count(2)
    expect(two?.headers['bowline-event-id']).toBe(one?.headers['bowline-event-id'])
    expect(two?.text).toBe(one?.text)
  })

  it(
    `S212: ${many} notices over three kills: none is lost, and each repeated one was being sent at a kill`,
    async () => {
      const place = workplace('data.db')
      const hook = await receiver()
      const url = `http://hooks.example:${hook.port}/`
      const first = place.startProgram('notifying', [place.store, 'https://hooks.example:1/', '0', String(many)])
      await first.readUntil((message) => message.type === 'moment' && message.what === 'ran')
      await first.kill()
      const begun = performance.now()
      const received = (): number => hook.received.length
      for (const [minute, share] of [1, 2, 3].entries()) {
        const dying = place.startProgram('notifying', [place.store, url, String(minute * 100 + 100)])
        await hook.count(Math.max(received() + 1, Math.floor((many * share) / 4)))
        await dying.kill()
      }
      place.startProgram('notifying', [place.store, url, '400'])
      const ids = (): Set<unknown> => new Set(hook.received.map(({ headers }) => headers['bowline-event-id']))
      while (ids().size < many) await hook.count(received() + 1)
      const doubled = received() - many
      console.info(
        `${many} notices, three kills: ${many - ids().size} lost, ${doubled} doubled, ${Math.round(performance.now() - begun)} ms`,
      )
      expect(new Set(hook.received.map(({ body }) => body.session)).size).toBe(many)
      // At most as many as one process sends at once, for each kill.
      expect(doubled).toBeLessThanOrEqual(3 * 8)
    },
    rounds({ short: 60_000, long: 600_000 }),
  )
})
