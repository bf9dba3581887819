import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/**
 * Returns the commit at which the current branch left main. Returns undefined if the repository has neither `origin/main` nor
 * `main`.
 */
export function baseOf(folder: string): string | undefined {
  for (const branch of ['origin/main', 'main']) {
    const { status, stdout } = spawnSync('git', ['merge-base', 'HEAD', branch], { cwd: folder, encoding: 'utf8' })
    if (status === 0) return stdout.trim()
  }
  return undefined
}

/** Returns the names of packages whose API report differs from `base`, if no changeset added or edited since `base` names them. */
export function missingChangesets(folder: string, base: string): readonly string[] {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: folder, encoding: 'utf8' }).split('\n').filter(Boolean)
  // The first report of a package is not a change.
  const reports = git('diff', '--name-only', '--diff-filter=M', base, '--', 'packages/*/api.md')
  const changesets = [
    ...git('diff', '--name-only', '--diff-filter=AM', base, '--', '.changeset/*.md'),
    ...git('ls-files', '--others', '--exclude-standard', '.changeset/*.md'),
  ]
  const named = new Set(changesets.flatMap((file) => packagesOf(readFileSync(join(folder, file), 'utf8'))))
  return reports.map((file) => nameOf(join(folder, dirname(file)))).filter((name) => !named.has(name))
}

function nameOf(folder: string): string {
  return (JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { readonly name: string }).name
}

/** Returns the packages that a changeset releases: the keys between its first two lines of dashes. */
function packagesOf(changeset: string): readonly string[] {
  const [, head = ''] = changeset.split(/^---$/m)
  return [...head.matchAll(/^["']?([^"':\s]+)["']?\s*:/gm)].map(([, name = '']) => name)
}
