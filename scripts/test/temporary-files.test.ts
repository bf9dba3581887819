import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'

const module = join(import.meta.dirname, '../temporary-files.ts')

/** Starts a process that creates its folder with a file in it, then runs the code `end`. */
function runIn(root: string, end: string): { readonly pid: number; readonly folder: string } {
  const program = `import { writeFileSync } from 'node:fs'
    import { temporaryFolder } from ${JSON.stringify(module)}
    const folder = temporaryFolder(${JSON.stringify(root)})
    writeFileSync(folder + '/file', '')
    process.stdout.write(folder)
    ${end}`
  const { pid, stdout } = spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', program], {
    encoding: 'utf8',
  })
  return { pid, folder: stdout }
}

it('the temporary files of a run are removed with it, or by the next run if it was killed', () => {
  const root = mkdtempSync(join(tmpdir(), 'bowline-temporary-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  const others = [join(root, String(process.pid)), join(root, 'of-nobody')]
  for (const other of others) mkdirSync(other)
  writeFileSync(join(others[0] ?? '', 'file'), '')

  const killed = runIn(root, `process.kill(process.pid, 'SIGKILL')`)
  expect(killed.folder).toBe(join(root, String(killed.pid)))
  expect(existsSync(join(killed.folder, 'file'))).toBe(true)

  const ended = runIn(root, '')
  expect(ended.folder).toBe(join(root, String(ended.pid)))
  expect(readdirSync(root).sort()).toEqual([String(process.pid), 'of-nobody'].sort())
  expect(readdirSync(others[0] ?? '')).toEqual(['file'])
})

const isRoot = process.getuid?.() === 0

it.skipIf(!isRoot)(
  `a file system that a killed test has left in its folder does not stop the next run${isRoot ? '' : ' (left out: only root may mount)'}`,
  (context) => {
    const root = mkdtempSync(join(tmpdir(), 'bowline-temporary-'))
    onTestFinished(() => rmSync(root, { recursive: true }))
    const killed = runIn(root, `process.kill(process.pid, 'SIGKILL')`)
    const disk = join(killed.folder, 'disk')
    mkdirSync(disk)
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', disk]).status !== 0)
      return context.skip('this system mounts no tmpfs')
    runIn(root, '')
    const left = readdirSync(root)
    spawnSync('umount', [disk])
    expect(left).toEqual([])
  },
)
