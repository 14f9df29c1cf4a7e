"""Chat templates in Jinja, as checkpoints of each family have them, shortened to what writes
messages."""

FAMILIES = {
    "chatml": (
        "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}"
        "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
    ),
    "llama2": (
        "{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}"
        "{% set system_message = messages[0]['content'] %}{% else %}{% set loop_messages = messages %}"
        "{% set system_message = false %}{% endif %}{% for message in loop_messages %}"
        "{% if loop.index0 == 0 and system_message != false %}"
        "{% set content = '<<SYS>>\n' + system_message + '\n<</SYS>>\n\n' + message['content'] %}"
        "{% else %}{% set content = message['content'] %}{% endif %}"
        "{% if message['role'] == 'user' %}{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}"
        "{% elif message['role'] == 'assistant' %}{{ ' ' + content.strip() + ' ' + eos_token }}{% endif %}{% endfor %}"
    ),
    "llama3": (
        "{% for message in messages %}{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'"
        " + message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}"
        "{% endif %}{{ content }}{% endfor %}{% if add_generation_prompt %}"
        "{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}"
    ),
    "gemma": (
        "{{ bos_token }}{% if messages[0]['role'] == 'system' %}{% set first = messages[0]['content'] + '\n\n' %}"
        "{% set rest = messages[1:] %}{% else %}{% set first = '' %}{% set rest = messages %}{% endif %}"
        "{% for message in rest %}{% set role = 'model' if message['role'] == 'assistant' else message['role'] %}"
        "{{ '<start_of_turn>' + role + '\n' + (first if loop.first else '') + message['content'] | trim + '<end_of_turn>\n' }}"
        "{% endfor %}{% if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif %}"
    ),
    "mistral": (
        "{{ bos_token }}{% for message in messages %}{% if message['role'] == 'user' %}"
        "{{ '[INST] ' + message['content'] + ' [/INST]' }}{% elif message['role'] == 'assistant' %}"
        "{{ message['content'] + eos_token}}{% endif %}{% endfor %}"
    ),
    "mistral-v3": (
        "{%- if messages[0]['role'] == 'system' %}{% set system_message = messages[0]['content'] %}{% set rest = messages[1:] %}"
        "{%- else %}{% set rest = messages %}{% endif %}{{- bos_token }}{%- for message in rest %}{%- if message['role'] == 'user' %}"
        "{%- if loop.last and system_message is defined %}"
        "{{- '[INST] ' + system_message + '\\n\\n' + message['content'] + '[/INST]' }}"
        "{%- else %}{{- '[INST] ' + message['content'] + '[/INST]' }}{%- endif %}{%- elif message['role'] == 'assistant' %}"
        "{{- ' ' + message['content'] | trim + eos_token }}{%- endif %}{%- endfor %}"
    ),
    "phi3": (
        "{% for message in messages %}{% if message['role'] == 'system' %}{{'<|system|>\n' + message['content'] + '<|end|>\n'}}"
        "{% elif message['role'] == 'user' %}{{'<|user|>\n' + message['content'] + '<|end|>\n'}}"
        "{% elif message['role'] == 'assistant' %}{{'<|assistant|>\n' + message['content'] + '<|end|>\n'}}{% endif %}"
        "{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif %}"
    ),
    "zephyr": (
        "{% for message in messages %}\n{% if message['role'] == 'user' %}\n{{ '<|user|>\n' + message['content'] + eos_token }}\n"
        "{% elif message['role'] == 'system' %}\n{{ '<|system|>\n' + message['content'] + eos_token }}\n"
        "{% elif message['role'] == 'assistant' %}\n{{ '<|assistant|>\n'  + message['content'] + eos_token }}\n{% endif %}\n"
        "{% if loop.last and add_generation_prompt %}\n{{ '<|assistant|>' }}\n{% endif %}\n{% endfor %}"
    ),
    "deepseek2": (
        "{{ bos_token }}{% for message in messages %}{% if message['role'] == 'user' %}{{ 'User: ' + message['content'] + '\n\n' }}"
        "{% elif message['role'] == 'assistant' %}{{ 'Assistant: ' + message['content'] + eos_token }}"
        "{% elif message['role'] == 'system' %}{{ message['content'] + '\n\n' }}{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}"
    ),
    "phi4": (
        "{% for message in messages %}{% if message['role'] == 'system' %}"
        "{{'<|im_start|>system<|im_sep|>' + message['content'] + '<|im_end|>'}}{% elif message['role'] == 'user' %}"
        "{{'<|im_start|>user<|im_sep|>' + message['content'] + '<|im_end|>'}}{% elif message['role'] == 'assistant' %}"
        "{{'<|im_start|>assistant<|im_sep|>' + message['content'] + '<|im_end|>'}}{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|im_start|>assistant<|im_sep|>' }}{% endif %}"
    ),
    "phi4-mini": (
        "{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% else %}{{ eos_token }}{% endif %}"
    ),
    "qwen2.5": (
        "{%- if messages[0]['role'] == 'system' %}\n    {{- '<|im_start|>system\\n' + messages[0]['content'] + '<|im_end|>\\n' }}\n"
        "{%- else %}\n    {{- '<|im_start|>system\\nYou are a cat, made by random weights. You help.<|im_end|>\\n' }}\n"
        "{%- endif %}\n{%- for message in messages %}\n    {%- if message.role == 'user' or message.role == 'assistant' %}\n"
        "        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}\n    {%- endif %}\n"
        "{%- endfor %}\n{%- if add_generation_prompt %}\n    {{- '<|im_start|>assistant\\n' }}\n{%- endif %}\n"
    ),
    "llama4": (
        "{{- bos_token }}\n{%- if messages[0]['role'] == 'system' %}\n    {%- set system_message = messages[0]['content']|trim %}\n"
        "    {%- set messages = messages[1:] %}\n    {{- '<|header_start|>system<|header_end|>\\n\\n' }}\n    {{- system_message }}\n"
        "    {{- '<|eot|>' }}\n{%- endif %}\n{%- for message in messages %}\n"
        "    {{- '<|header_start|>' + message['role'] + '<|header_end|>\\n\\n' }}\n    {{- message['content'] }}\n    {{- '<|eot|>' }}\n"
        "{%- endfor %}\n{%- if add_generation_prompt %}\n    {{- '<|header_start|>assistant<|header_end|>\\n\\n' }}\n{%- endif %}\n"
    ),
    "mistral-v1": (
        "{%- if messages[0]['role'] == 'system' %}{% set system_message = messages[0]['content'] %}{% set rest = messages[1:] %}"
        "{%- else %}{% set rest = messages %}{% endif %}{{- bos_token }}{%- for message in rest %}{%- if message['role'] == 'user' %}"
        "{%- if loop.first and system_message is defined %}"
        "{{- ' [INST] ' + system_message + '\\n\\n' + message['content'] + ' [/INST]' }}"
        "{%- else %}{{- ' [INST] ' + message['content'] + ' [/INST]' }}{%- endif %}{%- elif message['role'] == 'assistant' %}"
        "{{- ' ' + message['content'] + eos_token }}{%- endif %}{%- endfor %}"
    ),
    "mistral-v3-tekken": (
        '{%- if messages[0]["role"] == "system" %}{% set system_message = messages[0]["content"] %}{% set rest = messages[1:] %}'
        '{%- else %}{% set rest = messages %}{% endif %}{{- bos_token }}{%- for message in rest %}{%- if message["role"] == "user" %}'
        '{%- if loop.last and system_message is defined %}{{- "[INST]" + system_message + "\\n\\n" + message["content"] + "[/INST]" }}'
        '{%- else %}{{- "[INST]" + message["content"] + "[/INST]" }}{%- endif %}{%- elif message["role"] == "assistant" %}'
        '{{- message["content"] + eos_token }}{%- endif %}{%- endfor %}'
    ),
    "mistral-v7": (
        "{{ bos_token }}{% for message in messages %}{% if message['role'] == 'user' %}{{ '[INST] ' + message['content'] + '[/INST]' }}"
        "{% elif message['role'] == 'system' %}{{ '[SYSTEM_PROMPT] ' + message['content'] + '[/SYSTEM_PROMPT]' }}"
        "{% elif message['role'] == 'assistant' %}{{ ' ' + message['content'] + eos_token }}{% endif %}{% endfor %}"
    ),
    "mistral-v7-tekken": (
        "{{- bos_token }}{%- if messages[0]['role'] == 'system' %}{{- '[SYSTEM_PROMPT]' + messages[0]['content'] + '[/SYSTEM_PROMPT]' }}"
        "{%- endif %}{%- for message in messages %}{%- if message['role'] == 'user' %}{{- '[INST]' + message['content'] + '[/INST]' }}"
        "{%- elif message['role'] == 'assistant' %}{{- message['content'] + eos_token }}{%- endif %}{%- endfor %}"
    ),
    "olmo": (
        "{{ bos_token }}{% for message in messages %}{% if message['role'] == 'system' %}{{ '<|system|>\n' + message['content'] + '\n' }}"
        "{% elif message['role'] == 'user' %}{{ '<|user|>\n' + message['content'] + '\n' }}{% elif message['role'] == 'assistant' %}"
        "{{ '<|assistant|>\n'  + message['content'] + eos_token + '\n' }}{% endif %}"
        "{% if loop.last and add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif %}{% endfor %}"
    ),
    "olmo1": (
        "{{ eos_token }}{% for message in messages %}{% if message['role'] == 'user' %}{{ '<|user|>\n' + message['content'] + '\n' }}"
        "{% elif message['role'] == 'assistant' %}{{ '<|assistant|>\n'  + message['content'] + eos_token + '\n' }}"
        "{% elif message['role'] == 'system' %}{{ '<|system|>\n' + message['content'] + '\n' }}{% endif %}"
        "{% if loop.last and add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif %}{% endfor %}"
    ),
    "deepseek": (
        "{{bos_token}}\n{%- for message in messages %}\n    {%- if message['role'] == 'system' %}\n{{ message['content'] }}\n"
        "    {%- elif message['role'] == 'user' %}\n{{'### Instruction:\\n' + message['content'] + '\\n'}}\n    {%- else %}\n"
        "{{'### Response:\\n' + message['content'] + '\\n<|EOT|>\\n'}}\n    {%- endif %}\n{%- endfor %}\n"
        "{% if add_generation_prompt %}\n{{'### Response:'}}\n{% endif %}"
    ),
    "deepseek3": (
        "{{ bos_token }}{% for message in messages %}{% if message['role'] == 'system' %}{{ message['content'] }}"
        "{% elif message['role'] == 'user' %}{{ '<｜User｜>' + message['content'] }}{% elif message['role'] == 'assistant' %}"
        "{{ '<｜Assistant｜>' + message['content'] + '<｜end▁of▁sentence｜>' }}{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<｜Assistant｜>' }}{% endif %}"
    ),
    "command-r": (
        "{{ bos_token }}{% if messages[0]['role'] == 'system' %}{% set rest = messages[1:] %}"
        "{{ '<|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|>' + messages[0]['content'] + '<|END_OF_TURN_TOKEN|>' }}"
        "{% else %}{% set rest = messages %}{% endif %}{% for message in rest %}{% if message['role'] == 'user' %}"
        "{{ '<|START_OF_TURN_TOKEN|><|USER_TOKEN|>' + message['content'].strip() + '<|END_OF_TURN_TOKEN|>' }}"
        "{% elif message['role'] == 'assistant' %}"
        "{{ '<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>'  + message['content'].strip() + '<|END_OF_TURN_TOKEN|>' }}{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>' }}{% endif %}"
    ),
    "granite": (
        "{%- for message in messages %}\n    {{- '<|start_of_role|>' + message['role'] + '<|end_of_role|>' + message['content']"
        " + '<|end_of_text|>\\n' }}\n    {%- if loop.last and add_generation_prompt %}\n"
        "        {{- '<|start_of_role|>assistant<|end_of_role|>' }}\n    {%- endif %}\n{%- endfor %}"
    ),
}
WITHOUT_SYSTEM = {"mistral"}  # templates that have no message of the system
# What ends an answer, besides the end token of the program.
ENDS = {
    "chatml": "<|im_end|>", "qwen2.5": "<|im_end|>", "phi4": "<|im_end|>", "llama3": "<|eot_id|>", "llama4": "<|eot|>",
    "gemma": "<end_of_turn>", "phi3": "<|end|>", "phi4-mini": "<|end|>", "deepseek": "<|EOT|>",
    "deepseek3": "<｜end▁of▁sentence｜>", "command-r": "<|END_OF_TURN_TOKEN|>", "granite": "<|end_of_text|>",
}
