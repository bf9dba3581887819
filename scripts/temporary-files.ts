import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Creates the folder for temporary files of this process in `root`. It is removed when the process ends. If the process was killed,
 * the next one removes it.
 */
export function temporaryFolder(root: string): string {
  const folder = join(root, String(process.pid))
  // A process may call this more than once.
  const isNew = mkdirSync(folder, { recursive: true }) !== undefined
  for (const name of readdirSync(root)) {
    if (/^\d+$/.test(name) && !isRunning(Number(name))) removeLeft(join(root, name))
  }
  if (isNew) process.once('exit', () => remove(folder))
  return folder
}

function remove(folder: string): void {
  rmSync(folder, { recursive: true, force: true })
}

/** A test that was killed may have left a file system mounted in its folder. */
function removeLeft(folder: string): void {
  try {
    remove(folder)
  } catch {
    // The error of a busy folder has no code on Node 24. Any other one is thrown by the second try.
    for (const name of readdirSync(folder)) spawnSync('umount', [join(folder, name)])
    remove(folder)
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // The process belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
