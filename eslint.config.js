// SPDX-License-Identifier: Apache-2.0
import js from '@eslint/js'
import ts from 'typescript-eslint'
import prettier from 'eslint-config-prettier'

const clockMessage = 'Time comes from the Clock seam.'

export default ts.config(
  { ignores: ['dist', 'node_modules', '.tap', '.cache'] },
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [ts.configs.strictTypeChecked, ts.configs.stylisticTypeChecked],
    languageOptions: {
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      eqeqeq: 'error',
      complexity: ['error', 12],
      'max-lines': ['error', { max: 400 }],
      'max-params': ['error', 4],
      'no-console': 'error',
      'no-restricted-globals': [
        'error',
        { name: 'setTimeout', message: clockMessage },
        { name: 'setInterval', message: clockMessage },
      ],
      'no-restricted-properties': [
        'error',
        { object: 'Date', property: 'now', message: clockMessage },
        { object: 'performance', property: 'now', message: clockMessage },
        { object: 'AbortSignal', property: 'timeout', message: clockMessage },
        { object: 'Math', property: 'random', message: 'Chance comes from the Random seam.' },
        { object: 'process', property: 'env', message: 'Only cli/ reads the environment.' },
      ],
      'no-restricted-imports': ['error', { paths: ['node:timers/promises', 'timers/promises'] }],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/explicit-module-boundary-types': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { allowDefaultCaseForExhaustiveSwitch: false, considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/prefer-readonly': 'error',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_' }],
      '@typescript-eslint/consistent-type-definitions': ['error', 'interface'],
      // There are no enums (erasableSyntaxOnly), and classes with private fields are nominal for the compiler. The two cost a
      // fifth of all rules.
      '@typescript-eslint/no-unsafe-enum-assignment': 'off',
      '@typescript-eslint/no-unsafe-enum-comparison': 'off',
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      // Typed arrays are the hot path's data: an index inside the roster is always there.
      '@typescript-eslint/no-non-null-assertion': 'off',
    },
  },
  {
    files: ['core/clock.ts', 'core/random.ts', 'cli/**/*.ts', 'sandbox/main.ts'],
    rules: { 'no-restricted-globals': 'off', 'no-restricted-properties': 'off' },
  },
  {
    files: ['{test,testkit,bench}/**/*.ts'],
    rules: {
      'max-lines': ['error', { max: 600 }],
      'no-restricted-globals': 'off',
      'no-restricted-properties': 'off',
      'no-restricted-imports': 'off',
      '@typescript-eslint/no-floating-promises': 'off',
      '@typescript-eslint/explicit-module-boundary-types': 'off',
      '@typescript-eslint/require-await': 'off',
      complexity: 'off',
    },
  },
  {
    files: ['**/*.mjs', '**/*.cjs', '**/*.js'],
    languageOptions: {
      globals: {
        console: 'readonly',
        process: 'readonly',
        performance: 'readonly',
        module: 'writable',
        require: 'readonly',
        URL: 'readonly',
        AbortController: 'readonly',
      },
    },
  },
  prettier,
)
