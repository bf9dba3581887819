import { testPlacement, type PlacementHost } from '@bowline/testing/placement'
import { describe, it } from 'vitest'
import { isRestateMissing, sharedRestate, startBalancer, titleWithRestate } from '../../../scripts/restate.ts'
import { rounds, testSeed } from '../../../scripts/test-length.ts'
import { sessionsOn } from '../src/index.ts'

describe.skipIf(isRestateMissing)(titleWithRestate('Restate as a host'), () => {
  const restate = sharedRestate()

  testPlacement({
    name: 'Restate',
    programs: rounds({ short: 4, long: 200 }),
    seed: testSeed,
    runner: { describe, it },
    async host({ program }): Promise<PlacementHost> {
      const balancer = await startBalancer()
      const name = program.replaceAll(/[^A-Za-z0-9]/g, '-')
      let workers: readonly { readonly port: number; readonly close: () => Promise<void> }[] = []
      let isRegistered = false
      return {
        async addWorker(runtime) {
          const sessions = sessionsOn(runtime, { url: restate().url, name, turnMs: 1_500, frozenAfterMs: 2_000 })
          const { url, close } = await sessions.listen({ port: 0, onWarning: () => undefined })
          const worker = { port: Number(new URL(url).port), close }
          workers = [...workers, worker]
          balancer.use(...workers.map(({ port }) => port))
          if (!isRegistered) await restate().register(balancer.url)
          isRegistered = true
          const leave = async (): Promise<void> => {
            workers = workers.filter((each) => each !== worker)
            balancer.use(...workers.map(({ port }) => port))
            await close()
          }
          return { kill: leave, stop: leave }
        },
        async restart() {
          await restate().kill()
          await restate().start()
        },
        async stop() {
          await Promise.all(workers.map(({ close }) => close()))
          await balancer.close()
        },
      }
    },
  })
})
