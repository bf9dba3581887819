import { durableWorkloads } from './durable-workloads.ts'
import { memoryWorkloads } from './memory-workloads.ts'
import { postgresWorkloads } from './postgres-workloads.ts'

export const workloads = { ...memoryWorkloads, ...durableWorkloads, ...postgresWorkloads }

export type WorkloadName = keyof typeof workloads

export function isWorkloadName(name: string | undefined): name is WorkloadName {
  return name !== undefined && Object.hasOwn(workloads, name)
}
