import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, globSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/**
 * Copies the working tree to a new temporary folder and returns its path. Faults are made there, never in the tree itself.
 * Installed packages are shared by links. The caller removes the folder.
 */
export function copyTree(root: string): string {
  const copy = mkdtempSync(join(tmpdir(), 'bowline-mutants-'))
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root, encoding: 'utf8' })
  for (const file of listed.split('\0')) {
    if (file === '' || !existsSync(join(root, file))) continue
    mkdirSync(dirname(join(copy, file)), { recursive: true })
    cpSync(join(root, file), join(copy, file))
  }
  mkdirSync(join(copy, 'node_modules'))
  for (const name of readdirSync(join(root, 'node_modules'))) {
    if (name !== '@bowline') symlinkSync(join(root, 'node_modules', name), join(copy, 'node_modules', name))
  }
  // Their links are relative, so links to other packages lead to the copies.
  for (const folder of globSync(['node_modules/@bowline', '{packages,apps}/*/node_modules'], { cwd: root })) {
    cpSync(join(root, folder), join(copy, folder), { recursive: true, verbatimSymlinks: true })
  }
  return copy
}

export function removeTree(copy: string): void {
  rmSync(copy, { recursive: true, force: true })
}
