import { findRestate } from '../../scripts/restate/find-restate.ts'
import { startBalancer, type Balancer } from '../../scripts/restate/start-balancer.ts'
import { startRestate, type RestateServer } from '../../scripts/restate/start-restate.ts'
import { withPostgres, type BenchServer } from './postgres-server.ts'

export interface RestateBench {
  readonly postgres: BenchServer
  readonly restate: RestateServer
  /** Address of all workers. */
  readonly balancer: Balancer
}

/** Starts the servers for this work and ends them afterwards. */
export async function withRestate<T>(work: (bench: RestateBench) => Promise<T>): Promise<T> {
  const binary = findRestate()
  if (binary === undefined) throw new Error('There is no Restate server for this system')
  return withPostgres(async (postgres) => {
    const restate = await startRestate(binary)
    const balancer = await startBalancer()
    try {
      return await work({ postgres, restate, balancer })
    } finally {
      await balancer.close()
      await restate.stop()
    }
  })
}
