import { mkdirSync, rmSync } from 'node:fs'
import { publishedPackages, tarballFolder } from './packages.mjs'
import { run } from './run.mjs'

rmSync(tarballFolder, { recursive: true, force: true })
mkdirSync(tarballFolder, { recursive: true })
for (const { folder, tarball } of publishedPackages()) run('pnpm', ['pack', '--out', tarball], { cwd: folder })
