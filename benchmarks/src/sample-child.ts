import { execFile } from 'node:child_process'
import { join } from 'node:path'
import type { Unable } from './contender.ts'
import { median } from './harness.ts'
import { withTemporaryFolder } from './temporary-folder.ts'
import type { Sample } from './workload.ts'
import type { WorkloadName } from './workloads.ts'

export interface ChildWork {
  /** Path of the module that exports the contender. */
  readonly module: string
  readonly workload: WorkloadName
  readonly size?: number
  readonly timeoutMs?: number
  /** Folder of the compile cache, so that only the first process strips types from the sources. */
  readonly compileCache?: string
  /** Project into which the Bowline packages were installed from their tarballs. Without it they are loaded from their builds. */
  readonly project?: string
}

/** Result of a separate process, or the reason why it has none. */
export type ChildResult =
  | { readonly kind: 'sample'; readonly sample: Sample }
  | { readonly kind: 'timeout' }
  | { readonly kind: 'unable'; readonly reason: string }
  | { readonly kind: 'failed'; readonly reason: string }

/** Runs a workload once in a new process. */
export function sampleInChild(work: ChildWork): Promise<ChildResult> {
  const { module, workload, size, timeoutMs = 60_000, compileCache, project } = work
  const files = [project === undefined ? 'use-built.ts' : 'use-installed.ts', 'child.ts']
  const [packages, child] = files.map((file) => join(import.meta.dirname, file)) as [string, string]
  const args = ['--import', packages, child, module, workload, ...(size === undefined ? [] : [String(size)])]
  const cache = compileCache !== undefined && { NODE_COMPILE_CACHE: compileCache }
  const installed = project !== undefined && { INSTALLED_PROJECT: project }
  const env = { ...process.env, NODE_ENV: 'production', NO_COLOR: '1', ...cache, ...installed }
  return new Promise((resolve) => {
    execFile(process.execPath, args, { env, timeout: timeoutMs, killSignal: 'SIGKILL' }, (error, stdout, stderr) => {
      if (!error) return resolve(resultIn(stdout))
      resolve(error.killed === true ? { kind: 'timeout' } : { kind: 'failed', reason: reasonIn(stderr) ?? error.message })
    })
  })
}

function resultIn(stdout: string): ChildResult {
  const said = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') as Sample | Unable
  return 'unable' in said ? { kind: 'unable', reason: said.unable } : { kind: 'sample', sample: said }
}

/** Returns medians of new processes, with all works in turn. Rejects if a work gives no result. */
export async function sampleRounds(works: readonly ChildWork[], rounds = 5): Promise<readonly Sample[]> {
  return withTemporaryFolder(async (compileCache) => {
    const samples = works.map((): Sample[] => [])
    for (let round = 0; round < rounds; round += 1) {
      for (const [place, work] of works.entries()) {
        const result = await sampleInChild({ ...work, compileCache })
        if (result.kind !== 'sample') throw new Error(`${work.workload}: ${'reason' in result ? result.reason : result.kind}`)
        samples[place]?.push(result.sample)
      }
    }
    return samples.map((of) => ({ value: median(of.map(({ value }) => value)), peakBytes: median(of.map(({ peakBytes }) => peakBytes)) }))
  })
}

/** Returns the first line of a stack, without folders of this machine. */
function reasonIn(stderr: string): string | undefined {
  const line = /^\w*(?:Error|Exception)\b.*$/m.exec(stderr)?.[0]
  return line?.replace(/(?:\/[^\s/'"]+)+\/([^\s/'"]+)/g, '$1').slice(0, 160)
}
