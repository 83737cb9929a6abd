"""The prompts: their exact texts, and that they ask for the tasks' own classes."""

import json

import pytest
from toy_images import images

from pipelines.prompts import TEMPLATES, find_prompt, prompt
from pipelines.replies import parse_answer
from warehouse.errors import RegistryError, UsageError
from warehouse.project import registry_path
from warehouse.spec import Spec, specs

LOCKED = {"leadhouse-ecg-image-v0": "df86da19b9b29f0b0ec2e92793364c4f1177e997f5bf65d6ab015ef2bf713eff"}
"""The digest of each prompt's text: another wording is another id, in a file beside it."""

DECLARED = [json.loads(path.read_text()) for path in sorted(registry_path("prompts").glob("*.json"))]


def spec_of(declared, task):
    slug, version = task.split("@")
    return Spec(slug, int(version), {"classes": sorted(declared["classes"])}, TEMPLATES)


@pytest.mark.parametrize("declared", DECLARED, ids=lambda declared: declared["id"])
def test_a_prompt_is_what_its_id_says(declared):
    found = prompt(spec_of(declared, declared["tasks"][0]))
    assert found.id == declared["id"]
    assert found.sha256 == LOCKED[found.id]
    assert found.as_json() == {
        "prompt_id": found.id,
        "prompt_sha256": found.sha256,
        "decoding": declared["decoding"],
    }


@pytest.mark.parametrize("declared", DECLARED, ids=lambda declared: declared["id"])
def test_a_prompt_names_every_class_with_a_line(declared):
    spec = spec_of(declared, declared["tasks"][0])
    text = prompt(spec).text
    for name, meaning in declared["classes"].items():
        assert meaning
        assert "\n" not in meaning
        assert text.count(f"\n- {name}: {meaning}\n") == 1
    assert f"these {len(spec.classes)} classes" in text
    assert parse_answer(text, spec.classes) == set()  # what it shows as an answer names no class


def test_registered_tasks_have_a_prompt_with_their_classes_and_settings():
    seen = 0
    for spec in specs():
        if spec.data["kind"] != "multilabel" or "image" not in spec.data["input"]:
            continue
        found = prompt(spec)
        seen += 1
        for name in spec.classes:
            assert f"\n- {name}: " in found.text
        declared = spec.data.get("prompt", {})
        for setting in found.decoding.keys() & declared.keys():
            assert found.decoding[setting] == declared[setting]
        assert found.id != declared.get("published_id")
    assert seen or not registry_path("tasks", "lydus-ecg-image@0.json").exists()


def test_a_task_without_a_prompt(tmp_path):
    spec = images(tmp_path).spec
    assert find_prompt(spec) is None
    with pytest.raises(UsageError, match="toy-images@0: found no prompt"):
        prompt(spec)


def test_a_prompt_for_other_classes_is_refused():
    declared = DECLARED[0]
    spec = spec_of(declared, declared["tasks"][0])
    other = Spec(spec.slug, spec.version, {"classes": [*spec.classes[1:], "pear"]}, spec.path)
    with pytest.raises(RegistryError, match=rf"other classes .*: {spec.classes[0]}, pear"):
        find_prompt(other)
