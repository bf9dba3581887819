import { execFile } from 'node:child_process'
import { join } from 'node:path'
import type { Sample, WorkloadName } from './workloads.ts'

export interface ChildWork {
  /** Path of the module that exports the contender. */
  readonly module: string
  readonly workload: WorkloadName
  readonly size?: number
  readonly timeoutMs?: number
  /** Where compiled code is kept, so that no process pays for stripping types from sources. */
  readonly compileCache?: string
}

/** What a process of its own gave, or why it gave nothing. */
export type ChildResult =
  | { readonly kind: 'sample'; readonly sample: Sample }
  | { readonly kind: 'timeout' }
  | { readonly kind: 'failed'; readonly reason: string }

/** Runs a workload once in a fresh process. */
export function sampleInChild({ module, workload, size, timeoutMs = 60_000, compileCache }: ChildWork): Promise<ChildResult> {
  const args = [join(import.meta.dirname, 'child.ts'), module, workload, ...(size === undefined ? [] : [String(size)])]
  const env = {
    ...process.env,
    NODE_ENV: 'production',
    NO_COLOR: '1',
    ...(compileCache !== undefined && { NODE_COMPILE_CACHE: compileCache }),
  }
  return new Promise((resolve) => {
    execFile(process.execPath, args, { env, timeout: timeoutMs, killSignal: 'SIGKILL', maxBuffer: 64_000_000 }, (error, stdout, stderr) => {
      if (!error) return resolve({ kind: 'sample', sample: JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') as Sample })
      resolve(error.killed === true ? { kind: 'timeout' } : { kind: 'failed', reason: reasonIn(stderr) ?? error.message })
    })
  })
}

/** The first line of a stack, without the paths of this machine. */
function reasonIn(stderr: string): string | undefined {
  return /^\w*(?:Error|Exception)\b.*$/m.exec(stderr)?.[0].slice(0, 160)
}
