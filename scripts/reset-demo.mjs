import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './setup.mjs'

rmSync(join(root, '.bowline'), { recursive: true, force: true })
console.log('Removed ./.bowline')
