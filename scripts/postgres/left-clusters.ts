import { readFileSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Ends servers whose keeper was killed, and removes their folders. The name of each folder in `root` is the process id of its
 * keeper.
 */
export function removeLeftClusters(root: string): void {
  for (const name of readFolder(root)) {
    if (!/^\d+$/.test(name) || isRunning(Number(name))) continue
    const folder = join(root, name)
    const pid = serverOf(folder)
    if (pid !== undefined) process.kill(pid, 'SIGQUIT')
    rmSync(folder, { recursive: true, force: true })
  }
}

function readFolder(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
}

/** Returns the process of the server of this folder if it is running. Its id may meanwhile belong to another process. */
function serverOf(folder: string): number | undefined {
  try {
    const pid = Number(readFileSync(join(folder, 'data', 'postmaster.pid'), 'utf8').split('\n')[0])
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(folder) ? pid : undefined
  } catch {
    // The process does not exist, or the system does not provide this. A server without its folder ends by itself.
    return undefined
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // The process belongs to another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
