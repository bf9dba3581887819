import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Creates the folder for the temporary files of this process in `root`. It is removed with the process; that of a process
 * that was killed, by the next one.
 */
export function temporaryFolder(root: string): string {
  const folder = join(root, String(process.pid))
  // A process may ask more than once.
  const isNew = mkdirSync(folder, { recursive: true }) !== undefined
  for (const name of readdirSync(root)) {
    if (/^\d+$/.test(name) && !isRunning(Number(name))) remove(join(root, name))
  }
  if (isNew) process.once('exit', () => remove(folder))
  return folder
}

function remove(folder: string): void {
  rmSync(folder, { recursive: true, force: true })
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // The process of another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
