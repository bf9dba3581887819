import { BaseSequencer } from 'vitest/node'

/** Test files that start processes or draw hundreds of programs. */
const long = /\/(bin|crash|kill|mcp|programs|worker)\/|\/(after-a-crash|providers|remote-executor|supervisor)\.test/

/** By default vitest starts the largest files first. A short one that takes long would come last, and one core would wait for it. */
export class LongFirst extends BaseSequencer {
  /**
   * @override
   * @param {import('vitest/node').TestSpecification[]} files
   */
  async sort(files) {
    const sorted = await super.sort(files)
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))]
  }
}

/** @param {import('vitest/node').TestSpecification} file */
function isLong({ moduleId }) {
  return long.test(moduleId)
}
